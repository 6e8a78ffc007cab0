"""Times as they are typed; pure."""

from __future__ import annotations

import datetime

from mqgateway.gateway.cli.times import millis_of_iso
from mqgateway.gateway.mqadmin.declaration import UsageError


def millis_of(text: str, now: int) -> int:
    """Return a time in ms since the epoch: `now`, ms, ISO 8601, or RocketMQ's `2026-01-31#12:00:00:000`.

    The local clock counts unless a zone is given. Raises `UsageError`.
    """
    if text == "now":
        return now
    try:
        return int(text)
    except ValueError:
        pass
    try:
        if "#" not in text:
            return millis_of_iso(text)
        return int(datetime.datetime.strptime(text, "%Y-%m-%d#%H:%M:%S:%f").timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a time: write now, ms since the epoch, "
            "2026-01-31T12:00:00 or 2026-01-31#12:00:00:000"
        ) from None
