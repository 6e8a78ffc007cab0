"""Where log lines go: one event a line on standard error or in files, as text or as JSON.

Everything logs through the standard `logging`; Twisted's own events are routed into it. A line carries time
(with its zone in JSON), level, logger and message; JSON adds whatever fields the event was given. Messages
quote what peers say, so they are cut to a length and can begin no line of their own.
"""

import logging
import re
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, cast

from pythonjsonlogger.json import JsonFormatter

from mqgateway.gateway.cli.log_files import SECONDS, LogFolder, files_of

LogFormat = Literal["text", "json"]
TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

STATS = "mqgateway.stats"
"""The logger of what was counted in the last minute, hour and day."""
MESSAGE_MAX = 4000
"""Characters of a message; what a peer made longer is cut."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class ZonedJsonFormatter(JsonFormatter):
    """JSON lines whose times are of ISO 8601, in the machine's time and with its zone."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """For example `2026-01-31T12:00:00.123+01:00`."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


def start_logging(
    form: LogFormat, level: str, who: str = "", *, folder: str | None = None, servers: Iterable[str] = ()
) -> None:
    """Send everything at `level` and above to standard error in the given form, with the name `who`.

    With a `folder` it goes to the files there that these servers have (`log_files.FILES`), and to standard
    error what is a warning or worse. Raises `OSError` when nothing can be written there.
    """
    root = logging.getLogger()
    console = logging.StreamHandler(sys.stderr)
    console.setFormatter(_formatter(form, TEXT, None, who))
    handlers: list[logging.Handler] = [console]
    # Lines of each minute are for files, not for who looks on.
    logging.getLogger(STATS).setLevel(logging.WARNING if folder is None else logging.NOTSET)
    if folder is not None:
        console.setLevel(logging.WARNING)
        handlers.append(
            LogFolder(folder, files_of(servers), lambda text: _formatter(form, text, SECONDS, who))
        )
    for handler in handlers:
        handler.addFilter(keep_to_one_line)
    root.handlers[:] = handlers
    root.setLevel(level.upper())
    route_twisted()


def _formatter(form: LogFormat, text: str, times: str | None, who: str) -> logging.Formatter:
    if form == "json":
        return ZonedJsonFormatter(
            "%(asctime)s %(levelname)s %(name)s %(message)s",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            static_fields={"broker": who} if who else None,
        )
    named = text.replace("%(name)s", f"{who.replace('%', '%%')} %(name)s") if who else text
    return logging.Formatter(named, times)


def keep_to_one_line(record: logging.LogRecord) -> bool:
    """A filter that lets everything pass, with no control characters and no more than `MESSAGE_MAX`.

    A message that does not fit its arguments is logged with them beside it: it must not end what logs.
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
    """Hand Twisted's events to `logging`, so that nothing is printed on a way of its own."""
    from twisted.logger import ILogObserver, STDLibLogObserver, globalLogBeginner

    # Twisted announces every port and factory it starts at "info"; that is noise to an operator.
    logging.getLogger("twisted").setLevel(logging.WARNING)
    observer = cast(ILogObserver, STDLibLogObserver("twisted"))
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
