"""A store whose log is saved beside it, look by look."""

from __future__ import annotations

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.disk import Disk
from mqgateway.engine.tier.continuous import ContinuousSaver, SavingRules, SavingState
from tests.support.engine.store.stores import Bench
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.saving import NAMES, fill, layout_of

ENDLESS = 1 << 62
HOUR = 3_600_000
MASTER = SavingRules(True, ENDLESS, HOUR, False, 72 * HOUR, 0)
SLAVE = MASTER._replace(saves=False)


class SavedStore:
    """A store, stopped between looks so that its checkpoint is current, and its saver."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.objects = MemoryObjects()
        self.saver = self.new_saver()

    def new_saver(self, objects: MemoryObjects | None = None) -> ContinuousSaver:
        """Return the saver of a process that has just started."""
        store = objects or self.objects
        return ContinuousSaver(layout_of(self.bench.disk), NAMES, lambda: store, self.clock)

    @property
    def clock(self) -> ManualClock:
        return self.bench.clock

    @property
    def disk(self) -> Disk:
        return self.bench.disk

    def put(self, count: int, text: str = "body") -> None:
        fill(self.bench, count, text)
        self.bench = self.bench.restart()

    def look(self, rules: SavingRules = MASTER, saver: ContinuousSaver | None = None) -> SavingState:
        """Look until nothing is due, at the time of the clock."""
        chosen = saver or self.saver
        before = -1
        while (state := chosen.look(rules._replace(now=self.clock.millis()))).ranges > max(before, 0):
            before = state.ranges
        return state
