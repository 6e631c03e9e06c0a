"""A history from a file, whatever its form: CSV, a dump of Prometheus or vLLM's log, plain or gzip."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime
from pathlib import Path

from specwatch_detectors.history import History, HistoryError
from specwatch_detectors.history_csv import read_csv
from specwatch_detectors.history_log import is_log, read_log_history
from specwatch_detectors.history_prometheus import read_dump


def read_history(path: Path, interval_s: float | None = None) -> History:
    """Read a history: a log if it has an engine's lines, JSON if the file begins so, else CSV.

    Args:
        path: the file.
        interval_s: seconds of an interval; the file's own spacing if None.

    Raises:
        HistoryError: it cannot be read; the message says where and why.
    """
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        text = data.decode("utf-8-sig")
        year = datetime.fromtimestamp(path.stat().st_mtime, UTC).year
    except UnicodeDecodeError as error:
        raise HistoryError(f"{path}: not UTF-8 text, neither CSV nor JSON ({error.reason})") from error
    except (EOFError, zlib.error) as error:
        raise HistoryError(f"{path}: the gzip file is cut or broken") from error
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror or error}") from error
    if is_log(text):
        return read_log_history(text, str(path), year, interval_s)
    if text.lstrip()[:1] in {"{", "["}:
        return read_dump(text, str(path), interval_s)
    return read_csv(text.splitlines(), str(path), interval_s)
