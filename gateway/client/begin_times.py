"""The time that a group begins at which begins at a time; pure."""

from __future__ import annotations

from datetime import datetime

from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.options import ConsumerOptions

HALF_AN_HOUR_MILLIS = 1_800_000


def checked_time(text: str) -> str:
    """Return the text if it is a time. Raises `BadArgument`."""
    if text:
        try:
            _parse(text)
        except ValueError:
            raise BadArgument(f"consume_timestamp={text}: not yyyyMMddHHmmss") from None
    return text


def begin_time(options: ConsumerOptions, started_at: int) -> int:
    """Return the time that is configured, else half an hour before the start; in ms since the epoch."""
    text = options.consume_timestamp
    return int(_parse(text).timestamp() * 1000) if text else started_at - HALF_AN_HOUR_MILLIS


def _parse(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%d%H%M%S")
