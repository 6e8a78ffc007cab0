from __future__ import annotations

import json
import logging
from datetime import datetime

from mqgateway.gateway.cli.json_lines import json_formatter


def line_of(fields: dict[str, str] | None) -> dict[str, str]:
    record = logging.LogRecord("store", logging.WARNING, "file", 1, "%d files", (3,), None)
    record.created = 1_767_225_600.5
    read: dict[str, str] = json.loads(json_formatter(fields).format(record))
    return read


def test_json_line_has_time_level_logger_and_message() -> None:
    line = line_of(None)
    assert (line["level"], line["logger"], line["message"]) == ("WARNING", "store", "3 files")
    assert set(line) == {"time", "level", "logger", "message"}


def test_time_of_json_line_has_milliseconds_and_zone() -> None:
    time = datetime.fromisoformat(line_of(None)["time"])
    assert time.utcoffset() is not None
    assert time.timestamp() == 1_767_225_600.5


def test_json_line_has_given_fields() -> None:
    assert line_of({"broker": "b0"})["broker"] == "b0"
