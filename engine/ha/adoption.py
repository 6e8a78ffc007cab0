"""Which of its master's tables a slave takes over, and what it keeps of its own.

Consumer offsets: a client that cannot reach the master commits to the slave, and goes on from there. The
master, once it is back, knows nothing of that; the standard's slave then takes the master's older offset.
Here what was committed to the slave stays until the master's own offset changes, which is news: a commit
there, or somebody who sent the group back. No offset is taken that lies behind the last message the slave
has: were the slave to take the master's place, messages written then would be passed over. Standard:
`SlaveSynchronize.syncConsumerOffset`, which puts all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Place = tuple[str, str, int]
"""Group, topic and queue id."""


class OffsetAdoption:
    """What the master said last about each group's place; bounded by what the table of offsets takes."""

    def __init__(self) -> None:
        self._known: dict[Place, int] = {}

    def changes(
        self,
        reported: dict[Place, int],
        max_offset: Callable[[str, int], int],
        own: Callable[[str, str, int], int],
    ) -> Iterator[tuple[Place, int]]:
        """What to commit, of all that the master told; `own` gives the slave's offset, -1 for none."""
        before, self._known = self._known, reported
        for place, offset in reported.items():
            group, topic, queue_id = place
            mine = own(group, topic, queue_id)
            if before.get(place) == offset and mine >= offset:
                continue
            held = max_offset(topic, queue_id)
            wanted = min(offset, held)
            if wanted < offset:
                # Looked at again with the next round, when more has come.
                self._known[place] = -1
            if wanted != mine:
                yield place, wanted


def taken_back(
    reported: dict[Place, int],
    max_offset: Callable[[str, int], int],
    own: Callable[[str, str, int], int],
) -> Iterator[tuple[Place, int]]:
    """What a master commits that comes back, of all that a slave told: what went on while it was away.

    An offset only ever goes on; none goes beyond what the master has. Standard:
    `BrokerPreOnlineService.syncMetadataReverse`, which puts all from a newer version.
    """
    for place, offset in reported.items():
        group, topic, queue_id = place
        wanted = min(offset, max_offset(topic, queue_id))
        if wanted > own(group, topic, queue_id):
            yield place, wanted
