"""Where log lines go: one event a line on standard error, as text or as JSON.

Everything logs through the standard `logging`; Twisted's own events are routed into it. A line carries time
(with its zone in JSON), level, logger and message; JSON adds whatever fields the event was given. Messages
quote what peers say, so they are cut to a length and can begin no line of their own.
"""

import logging
import re
import sys
from datetime import datetime
from typing import Literal, cast

from pythonjsonlogger.json import JsonFormatter

LogFormat = Literal["text", "json"]
TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

MESSAGE_MAX = 4000
"""Characters of a message; what a peer made longer is cut."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class ZonedJsonFormatter(JsonFormatter):
    """JSON lines whose times are of ISO 8601, in the machine's time and with its zone."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """For example `2026-01-31T12:00:00.123+01:00`."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


def start_logging(form: LogFormat, level: str, who: str = "") -> None:
    """Send everything at `level` and above to standard error in the given form, with the name `who`."""
    console = logging.StreamHandler(sys.stderr)
    if form == "json":
        console.setFormatter(
            ZonedJsonFormatter(
                "%(asctime)s %(levelname)s %(name)s %(message)s",
                rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
                static_fields={"broker": who} if who else None,
            )
        )
    else:
        text = TEXT.replace("%(name)s", f"{who.replace('%', '%%')} %(name)s") if who else TEXT
        console.setFormatter(logging.Formatter(text))
    console.addFilter(keep_to_one_line)
    root = logging.getLogger()
    root.handlers[:] = [console]
    root.setLevel(level.upper())
    route_twisted()


def keep_to_one_line(record: logging.LogRecord) -> bool:
    """A filter that lets everything pass, with no control characters and no more than `MESSAGE_MAX`."""
    text = record.getMessage()
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
