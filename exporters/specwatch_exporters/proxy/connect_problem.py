"""Why a connection to the engine could not be made, in words for whoever runs the sidecar."""

from __future__ import annotations

import os
import socket
import ssl

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})


def connect_problem(error: Exception, timeout_s: float) -> str:
    """One clause.

    Args:
        error: what connecting raised.
        timeout_s: how long it was allowed to take.
    """
    if isinstance(error, TimeoutError) and error.errno is None:
        return f"it did not accept a connection within {timeout_s:g} s"
    if isinstance(error, ssl.SSLError):
        return _tls_problem(error)
    if isinstance(error, socket.gaierror):
        return f"its name cannot be looked up ({error.strerror})"
    if isinstance(error, UnicodeError):
        return "its name is no host name"
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else str(error)


def _tls_problem(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    reason = (error.reason or "unknown reason").replace("_", " ").lower()
    if error.reason in _NO_TLS:
        return f"it does not speak TLS ({reason}); try http"
    return f"the TLS handshake failed: {reason}"
