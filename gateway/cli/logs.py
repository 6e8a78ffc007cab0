"""Log output: one event a line on standard error or in files, as text or as JSON.

Everything logs through Python's `logging`; Twisted's own events are routed into it. A line has time (with its
zone in JSON), level, logger and message; JSON adds the fields of the event. Messages quote text from peers.
So they are truncated to a length, and line breaks in them are escaped.
"""

import logging
import re
import sys
from collections.abc import Iterable
from typing import Literal, cast

from mqgateway.gateway.cli.log_files import SECONDS, LogFolder, files_of

LogFormat = Literal["text", "json"]
TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

STATS = "mqgateway.stats"
"""Logger of the statistics of the last minute, hour and day."""
MESSAGE_MAX = 4000
"""Maximum length of a message, in characters; longer ones are truncated."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def start_logging(
    form: LogFormat, level: str, name: str = "", *, folder: str | None = None, servers: Iterable[str] = ()
) -> None:
    """Log everything at `level` and above to standard error in the given form, under `name`.

    With a `folder`, lines go to the log files of these servers there (`log_files.FILES`), and only warnings
    and errors to standard error. Raises `OSError` if the folder cannot be written.
    """
    root = logging.getLogger()
    console = logging.StreamHandler(sys.stderr)
    console.setFormatter(_formatter(form, TEXT, None, name))
    handlers: list[logging.Handler] = [console]
    # Statistics of each minute are for files, not for a terminal.
    logging.getLogger(STATS).setLevel(logging.WARNING if folder is None else logging.NOTSET)
    if folder is not None:
        console.setLevel(logging.WARNING)
        handlers.append(
            LogFolder(folder, files_of(servers), lambda text: _formatter(form, text, SECONDS, name))
        )
    for handler in handlers:
        handler.addFilter(keep_to_one_line)
    root.handlers[:] = handlers
    root.setLevel(level.upper())
    route_twisted()


def _formatter(form: LogFormat, text: str, times: str | None, name: str) -> logging.Formatter:
    if form == "json":
        from mqgateway.gateway.cli.json_lines import json_formatter  # not loaded for text

        return json_formatter({"broker": name} if name else None)
    named = text.replace("%(name)s", f"{name.replace('%', '%%')} %(name)s") if name else text
    return logging.Formatter(named, times)


def keep_to_one_line(record: logging.LogRecord) -> bool:
    """Escape control characters of a record and truncate it to `MESSAGE_MAX`. A filter that drops nothing.

    A message that does not fit its arguments is logged followed by them: logging must not raise an error.
    """
    try:
        text = record.getMessage()
    except (TypeError, ValueError):
        text = f"{record.msg} {record.args}"
    if len(text) > MESSAGE_MAX:
        text = f"{text[:MESSAGE_MAX]}... ({len(text)} characters)"
    if not text.isprintable():
        text = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    record.msg, record.args = text, None
    return True


def route_twisted() -> None:
    """Route Twisted's events to `logging`, so that Twisted prints nothing itself."""
    from twisted.logger import ILogObserver, STDLibLogObserver, globalLogBeginner

    # Twisted logs every port and factory it starts at "info"; that is noise to an operator.
    logging.getLogger("twisted").setLevel(logging.WARNING)
    observer = cast(ILogObserver, STDLibLogObserver("twisted"))
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
