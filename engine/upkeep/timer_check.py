"""Check of the timers' files: wheel and timer log against each other and against the state at the last stop.

The next start repairs the faults found here, so they are for information only. RocketMQ: `TimerWheel`,
`TimerLog`.
"""

from __future__ import annotations

from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.timers.checkpoint import TimerCheckpoint
from mqgateway.engine.timers.lost_files import why_wheel_is_wrong
from mqgateway.engine.timers.timer_log import TimerLog
from mqgateway.engine.timers.wheel import SLOT_SIZE, SLOTS, Slot, Wheel
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files

_FILLED = "the next start fills its slots from the timer log"
_REBUILT = "the next start reads the timers from their topic again"


class TimerCheck:
    """One check of a store's timers; `slots` is for tests."""

    def __init__(self, layout: Layout, findings: Findings, slots: int = SLOTS) -> None:
        self._layout = layout
        self._findings = findings
        disk, root = layout.disk, layout.root
        self._path = f"{root}/timerwheel"
        self._log_path = f"{root}/timerlog"
        self._checkpoint = TimerCheckpoint(disk, f"{root}/config/timercheck")
        self._wheel = Wheel(disk, self._path, layout.options.timer_precision_ms, slots)

    def run(self) -> None:
        """Check the files; a store without timers has none."""
        disk, checkpoint = self._layout.disk, self._checkpoint
        if not disk.exists(f"{self._layout.root}/config/timercheck"):
            return
        checkpoint.load(create=False)
        self._wheel.precision = checkpoint.precision or self._wheel.precision
        files = find_files(self._layout.pool, self._log_path, StorePart.TIMER_LOG, self._findings, _REBUILT)
        written = checkpoint.stable.log_position if checkpoint.stable else 0
        if written > files.end:
            what = f"ends at {files.end}, but timers were written up to {written}"
            self._findings.error(StorePart.TIMER_LOG, self._log_path, -1, what, _REBUILT)
        if not disk.exists(self._path):
            if files.starts:
                self._findings.error(StorePart.TIMER_WHEEL, self._path, -1, "is missing", _FILLED)
            return
        if what := why_wheel_is_wrong(disk, self._path, self._wheel, checkpoint):
            self._findings.error(StorePart.TIMER_WHEEL, self._path, -1, what, _FILLED)
        if disk.size(self._path) == self._wheel.length:
            self._wheel.open(create=False)
            self._check_slots(files)

    def _check_slots(self, files: FileQueue) -> None:
        for number in self._wheel.misplaced():
            what = f"slot {number} holds a time that is not its own"
            self._findings.error(StorePart.TIMER_WHEEL, self._path, number * SLOT_SIZE, what, _FILLED)
        if self._checkpoint.stable is None or not self._checkpoint.is_clean or not files.starts:
            return  # the last writes may be in one of the two only
        timer_log = TimerLog(self._layout.disk, self._log_path, files.file_size)
        timer_log.files = files
        begin = self._checkpoint.stable.read_time
        for slot in self._wheel.used(begin, begin + self._wheel.length // SLOT_SIZE * self._wheel.precision):
            self._check_ends(slot, timer_log)

    def _check_ends(self, slot: Slot, timer_log: TimerLog) -> None:
        """Check that first and last unit of a slot have its time."""
        number = slot.time // self._wheel.precision % self._wheel.slots
        for position in (slot.first, slot.last):
            unit = timer_log.read_at(position) if position >= timer_log.begin else None
            if unit is None or self._wheel.floor(unit.time) != slot.time:
                what = f"slot {number} says that a unit of its time lies at {position} of the timer log"
                self._findings.error(
                    StorePart.TIMER_WHEEL, self._path, number * SLOT_SIZE, f"{what}, where none does", _FILLED
                )
                return
