"""Times as our own commands print and read them: ISO 8601; pure."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def iso(millis: int, zone: tzinfo | None = None) -> str:
    """Return a time in ms since the epoch, by the local clock unless a zone is given."""
    return datetime.fromtimestamp(millis / 1000, UTC).astimezone(zone).isoformat(timespec="milliseconds")


def millis_of_iso(text: str) -> int:
    """Return ms since the epoch; the local zone counts where the text has none. Raises `ValueError`."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)
