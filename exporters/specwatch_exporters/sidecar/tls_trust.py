"""Whom to trust over https. The only module of the sidecar that imports `ssl`."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from specwatch_exporters.sidecar.fetch_error import Cause, FetchError


class TlsTrust:
    """Wraps sockets; reads the CA file again when it was replaced, as certificate managers do.

    Args:
        ca_file: PEM file of the authorities to trust instead of the system's.
        insecure: trust any certificate.
    """

    def __init__(self, ca_file: Path | None = None, *, insecure: bool = False) -> None:
        self._ca_file = ca_file
        self._insecure = insecure
        self._context: ssl.SSLContext | None = None
        self._stamp: tuple[int, int, int] | None = None

    def wrap(self, sock: socket.socket, host: str, timeout_s: float) -> ssl.SSLSocket:
        """Shake hands within a time; takes the socket over, also when it fails.

        Raises:
            TimeoutError: the handshake took longer.
            FetchError: cause `tls`, or `settings` when the CA file cannot be used.
        """
        try:
            context = self._current_context()
            sock.settimeout(timeout_s)
            return context.wrap_socket(sock, server_hostname=host)
        except TimeoutError:
            raise
        except ssl.SSLCertVerificationError as error:
            raise FetchError(Cause.TLS, f"its certificate is not trusted: {error.verify_message}") from error
        except ssl.SSLError as error:
            raise FetchError(Cause.TLS, _handshake_problem(error)) from error
        except OSError as error:
            raise FetchError(Cause.TLS, f"the TLS handshake broke off ({error.strerror or error})") from error
        finally:
            sock.close()  # wrapping detaches the descriptor; without that, this closes it

    def _current_context(self) -> ssl.SSLContext:
        stamp = self._file_stamp()
        if self._context is None or stamp != self._stamp:
            self._context, self._stamp = self._new_context(), stamp
        return self._context

    def _file_stamp(self) -> tuple[int, int, int] | None:
        if self._ca_file is None:
            return None
        try:
            status = self._ca_file.stat()
        except OSError as error:
            raise FetchError(Cause.SETTINGS, f"the CA file {self._ca_file}: {error.strerror}") from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _new_context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:  # SSLError is one: not PEM
            raise FetchError(Cause.SETTINGS, f"the CA file {self._ca_file} holds no certificate") from error
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _handshake_problem(error: ssl.SSLError) -> str:
    reason = (error.reason or "unknown reason").replace("_", " ").lower()
    if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}:
        return f"it does not speak TLS ({reason}); try http"
    return f"the TLS handshake failed: {reason}"
