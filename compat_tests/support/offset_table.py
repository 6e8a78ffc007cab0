"""The table of committed offsets on a broker's disk."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.lenient_json import loads


def offsets_on_disk(path: Path) -> dict[str, dict[str, int]]:
    """Return the offsets by topic and group (`topic@group`) and queue; none while there is no file.

    Apache's broker deletes the old file before it gives its name to the new one.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    table: dict[str, dict[str, int]] = loads(text)["offsetTable"]
    return table
