"""Log lines as JSON objects."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from pythonjsonlogger.json import JsonFormatter


class ZonedJsonFormatter(JsonFormatter):
    """Formatter of JSON lines with ISO 8601 local times and their zone."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Return the time of a record, for example `2026-01-31T12:00:00.123+01:00`."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")


def json_formatter(fields: Mapping[str, str] | None) -> logging.Formatter:
    """Return the formatter of lines that also have these fields."""
    return ZonedJsonFormatter(
        "%(asctime)s %(levelname)s %(name)s %(message)s",
        rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        static_fields=fields,
    )
