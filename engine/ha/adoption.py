"""Copying of consumer offsets between master and slave.

A client that cannot reach the master commits to the slave, and continues from there. The returning master
does not know those commits, and RocketMQ's slave then adopts the master's older offset. Here an offset
committed to the slave is kept until the master's own offset changes, by a commit there or a reset. An adopted
offset never exceeds the slave's max offset: if the slave became master, new messages would be skipped.
RocketMQ: `SlaveSynchronize.syncConsumerOffset`, which copies all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Place = tuple[str, str, int]
"""Group, topic and queue id."""


class OffsetAdoption:
    """The master's last reported offsets; bounded by the size of the table of offsets."""

    def __init__(self) -> None:
        self._known: dict[Place, int] = {}

    def changes(
        self,
        reported: dict[Place, int],
        max_offset: Callable[[str, int], int],
        own: Callable[[str, str, int], int],
    ) -> Iterator[tuple[Place, int]]:
        """Yield the offsets to commit after the master's report; `own` returns the slave's, -1 for none."""
        before, self._known = self._known, reported
        for place, offset in reported.items():
            group, topic, queue_id = place
            mine = own(group, topic, queue_id)
            if before.get(place) == offset and mine >= offset:
                continue
            held = max_offset(topic, queue_id)
            wanted = min(offset, held)
            if wanted < offset:
                # Checked again in the next round, when more has been replicated.
                self._known[place] = -1
            if wanted != mine:
                yield place, wanted


def taken_back(
    reported: dict[Place, int],
    max_offset: Callable[[str, int], int],
    own: Callable[[str, str, int], int],
) -> Iterator[tuple[Place, int]]:
    """Yield the offsets that a returning master commits, given a slave's report of its time as acting master.

    Offsets only advance, and never beyond the master's log. RocketMQ:
    `BrokerPreOnlineService.syncMetadataReverse`, which copies all from a newer version.
    """
    for place, offset in reported.items():
        group, topic, queue_id = place
        wanted = min(offset, max_offset(topic, queue_id))
        if wanted > own(group, topic, queue_id):
            yield place, wanted
