"""Throttling of cold reads: old data that consumer groups read from the disk.

A message is cold if it is so far behind the log's end that it cannot be in memory, which has the newest part.
Cold bytes are summed per group and in total; `tick` resets the sums every few seconds. A group above its
threshold, or any group while the total is above the global threshold, is throttled by the code that serves
its pulls. With `coldCtrStrategyEnable`, thresholds that are not set adapt to the load of the disk. RocketMQ:
`ColdDataCgCtrService`, `SimpleColdCtrStrategy`, `PIDAdaptiveColdCtrStrategy`.
"""

import logging
from collections import deque
from typing import Any

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import total_memory
from mqgateway.engine.names import is_system_group
from mqgateway.engine.options import BrokerOptions, StoreOptions

log = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""Interval of `tick`."""
LIFE_MILLIS = 60_000
"""Time after which a group without cold reads is forgotten."""

ADAPTIVE = "||adaptive"
"""Suffix of a group's name where an adapted threshold is shown."""
PROMOTION = 1.5
DECELERATION = 0.8
DECELERATED = 3
"""Number of thresholds lowered at once: the largest ones."""

WEIGHT_NOW, WEIGHT_SUM, WEIGHT_CHANGE = 0.5, 0.3, 0.2
HISTORY = 10
EXPECTED_SHARE = 0.8
"""Target share of the global threshold."""


class _Group:
    """Cold reads of one group since the last tick; wall times in ms, `heard_at` in elapsed ms."""

    __slots__ = ("created", "heard_at", "last_read", "size")

    def __init__(self, now: int) -> None:
        self.created = now
        self.last_read = now
        self.heard_at = 0
        self.size = 0


class ColdReads:
    """Sums and thresholds, in bytes per `TICK_SECONDS`; `maxGroups` bounds both tables."""

    def __init__(
        self,
        options: BrokerOptions,
        store_options: StoreOptions,
        clock: Clock,
        memory: int | None = None,
    ) -> None:
        self._options = options
        self._store_options = store_options
        self._clock = clock
        self._memory = total_memory() if memory is None else memory
        self._groups: dict[str, _Group] = {}
        self._thresholds: dict[str, int] = {}
        self._adapted: dict[str, int] = {}
        self._total = 0
        self._errors: deque[int] = deque(maxlen=HISTORY)

    @property
    def is_watched(self) -> bool:
        """True if cold reads are counted."""
        return self._store_options.cold_data_flow_control_enable

    def is_cold(self, behind: int) -> bool:
        """Return True if data `behind` bytes before the log's end is no longer in memory.

        RocketMQ: `DefaultMessageStore.checkInColdAreaByCommitOffset`.
        """
        return behind > self._memory * self._store_options.access_message_in_memory_hot_ratio // 100

    def read(self, group: str, size: int) -> None:
        """Count cold bytes read by a group."""
        if is_system_group(group):
            return
        now, elapsed = self._clock.millis(), elapsed_millis(self._clock)
        known = self._groups.get(group)
        if known is None:
            if len(self._groups) >= self._options.max_groups:
                return
            known = self._groups[group] = _Group(now)
        known.size += size
        known.last_read = now
        known.heard_at = elapsed
        self._total += size

    def is_too_much(self, group: str) -> bool:
        """Return True if the group should be throttled."""
        known = self._groups.get(group)
        if known is None or is_system_group(group):
            return False
        return known.size >= self._threshold(group) or self._total >= self._options.global_cold_read_threshold

    def set_threshold(self, group: str, threshold: int) -> bool:
        """Set the threshold of a group; return False if the table is full."""
        if group not in self._thresholds and len(self._thresholds) >= self._options.max_groups:
            return False
        self._thresholds[group] = threshold
        return True

    def remove_threshold(self, group: str) -> None:
        """Remove the threshold of a group, so that the general one applies."""
        self._thresholds.pop(group, None)

    def tick(self) -> None:
        """Reset the sums and adapt the thresholds."""
        options = self._options
        if options.cold_ctr_strategy_enable:
            self._errors.append(int(options.global_cold_read_threshold * EXPECTED_SHARE) - self._total)
        oldest = elapsed_millis(self._clock) - LIFE_MILLIS
        for name, known in list(self._groups.items()):
            if known.heard_at <= oldest:
                del self._groups[name]
                self._adapted.pop(name, None)
                continue
            threshold = self._threshold(name)
            if known.size >= threshold:
                log.info(
                    "group %s has read %d bytes of old data, %d are allowed", name, known.size, threshold
                )
                self._promote(name, threshold)
            known.size = 0
        if options.cold_ctr_strategy_enable:
            self._decelerate()
        else:
            self._adapted.clear()
        self._total = 0

    def to_json(self) -> dict[str, Any]:
        """Return sums and thresholds under RocketMQ's names."""
        found = {name + ADAPTIVE: threshold for name, threshold in self._adapted.items()}
        return {
            "cgColdReadThreshold": self._options.cg_cold_read_threshold,
            "configTable": self._thresholds | found,
            "globalAcc": self._total,
            "globalColdReadThreshold": self._options.global_cold_read_threshold,
            "runtimeTable": {
                name: {
                    "coldAcc": known.size,
                    "createTimeMills": known.created,
                    "lastColdReadTimeMills": known.last_read,
                }
                for name, known in self._groups.items()
            },
        }

    def _threshold(self, group: str) -> int:
        found = self._thresholds.get(group)
        if found is None and self._options.cold_ctr_strategy_enable:
            found = self._adapted.get(group)
        return self._options.cg_cold_read_threshold if found is None else found

    def _promote(self, group: str, threshold: int) -> None:
        """Raise the threshold of a group that reads more, while the total is below the global threshold."""
        options = self._options
        if not options.cold_ctr_strategy_enable or group in self._thresholds:
            return
        if self._total > options.global_cold_read_threshold:
            return
        if not options.use_pid_cold_ctr_strategy or self._tendency() > 0:
            self._adapted[group] = int(threshold * PROMOTION)

    def _decelerate(self) -> None:
        """Lower the largest thresholds if the total is too high."""
        options = self._options
        if options.use_pid_cold_ctr_strategy:
            is_needed = self._tendency() < 0
        else:
            is_needed = self._total > options.global_cold_read_threshold
        if is_needed:
            largest = sorted(self._adapted, key=lambda name: -self._adapted[name])
            for group in largest[:DECELERATED]:
                lower = int(self._adapted[group] * DECELERATION)
                self._adapted[group] = max(lower, options.cg_cold_read_threshold)

    def _tendency(self) -> float:
        """Return a value above 0 if more could be read, below 0 if too much; 0 until enough ticks."""
        errors = self._errors
        if len(errors) < HISTORY:
            return 0.0
        return WEIGHT_NOW * errors[-1] + WEIGHT_SUM * sum(errors) + WEIGHT_CHANGE * (errors[-1] - errors[-2])
