"""Detection of timer files that are lost or were changed externally, before they are used.

A wheel that differs from its state at the last clean stop, or has another length, is deleted: its slots are
filled from the timer log. A timer log that lacks a file, or units at its end, is unusable: timers are read
again from their topic. Both are derived from the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.timers.checkpoint import TimerCheckpoint
from mqgateway.engine.timers.timer_log import TimerLog
from mqgateway.engine.timers.wheel import Wheel

log = logging.getLogger(__name__)


def drop_wrong_wheel(disk: Disk, path: str, wheel: Wheel, checkpoint: TimerCheckpoint) -> None:
    """Delete an invalid wheel, and log the reason. Raises `OSError`."""
    if not disk.exists(path):
        if checkpoint.stable is not None and checkpoint.stable.log_position:
            log.warning("%s is missing: its slots are rebuilt from the timer log", path)
        return
    reason = why_wheel_is_wrong(disk, path, wheel, checkpoint)
    if reason:
        log.warning("%s %s: its slots are rebuilt from the timer log", path, reason)
        disk.unlink(path)


def why_wheel_is_wrong(disk: Disk, path: str, wheel: Wheel, checkpoint: TimerCheckpoint) -> str:
    """Return the fault of a wheel's file as a whole; "" if there is none. Raises `OSError`."""
    size = disk.size(path)
    if size not in (0, wheel.length):
        return f"has {size} bytes, a wheel has {wheel.length}"
    if not size or not checkpoint.is_clean or not checkpoint.wheel_crc:
        return ""
    wheel.open(create=False)
    return "" if wheel.crc() == checkpoint.wheel_crc else "is not as the last stop left it"


def lost_units(
    timer_log: TimerLog, wheel: Wheel | None, checkpoint: TimerCheckpoint, is_kept: Callable[[int], bool]
) -> str:
    """Return the reason why a timer log is unusable; "" if it is usable. Raises `OSError`.

    `is_kept` returns True for a commit log offset if messages before it still exist; `wheel` is given if it
    is open.
    """
    try:
        timer_log.load(repair=not checkpoint.is_clean)
    except CorruptFile as error:
        return str(error)
    files, stable = timer_log.files, checkpoint.stable
    if stable is not None and stable.log_position > files.end:
        return f"{files.directory} ends at {files.end}, {stable.log_position} was written"
    first = timer_log.read_at(timer_log.begin) if timer_log.begin else None
    if stable is None or wheel is None or first is None or not is_kept(first.physical_offset):
        return ""
    turn = wheel.slots * wheel.precision
    if any(slot.first < timer_log.begin for slot in wheel.used(stable.read_time, stable.read_time + turn)):
        return f"{files.directory} begins at {timer_log.begin}, and timers wait whose units were before it"
    return ""
