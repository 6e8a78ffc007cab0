"""Offsets of broadcasting consumers, and the first offset of one that changes its path to the broker.

A client of a broadcasting group keeps its own offsets, so the broker only observes its pulls. They are needed
when the client's path changes (it reached the broker directly, now it comes through a proxy, or vice versa:
it has no offsets there), and for the first pull through a proxy. They are in memory; every few seconds the
least offset of a group's clients is committed under the name `GROUP@broadcast`. RocketMQ:
`BroadcastOffsetManager`.
"""

from collections.abc import Callable, Iterable

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.offsets import BROADCAST, SEPARATOR

UNKNOWN = -1
"""Result of `first_offset` if the client's own offset counts."""

SCAN_SECONDS = 5.0
"""Interval of `scan`."""

ClientKey = tuple[str, str, str]
"""Topic, group and client id."""


def broadcast_group(group: str) -> str:
    """Return the name under which the least offsets of a group's clients are committed."""
    return f"{group}{SEPARATOR}{BROADCAST}"


class _Reader:
    """Pulls of one client in a topic: offsets by queue, with time and path of the last one."""

    __slots__ = ("from_proxy", "offsets", "updated")

    def __init__(self, from_proxy: bool, now: int) -> None:
        self.from_proxy = from_proxy
        self.updated = now
        self.offsets: dict[int, int] = {}


class BroadcastOffsets:
    """Offsets of all clients; `maxOffsets` bounds them."""

    def __init__(self, options: BrokerOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._readers: dict[ClientKey, _Reader] = {}
        self._topics: dict[tuple[str, str], int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def pulled(self, key: ClientKey, queue_id: int, offset: int, from_proxy: bool) -> None:
        """Note that the client has pulled from this offset."""
        now = elapsed_millis(self._clock)
        reader = self._readers.get(key)
        known = None if reader is None else reader.offsets.get(queue_id)
        if known is None:
            if self._count >= self._options.max_offsets:
                return
            self._count += 1
            reader = reader or self._new_reader(key, from_proxy)
        assert reader is not None
        reader.updated = now
        reader.from_proxy = from_proxy
        if known is None or offset > known:
            reader.offsets[queue_id] = offset

    def first_offset(
        self,
        key: ClientKey,
        queue_id: int,
        requested: int,
        from_proxy: bool,
        elsewhere: Callable[[], int],
    ) -> int:
        """Return the offset to use instead of the requested one; `UNKNOWN` if that is right.

        `elsewhere` returns an offset if the client is not known. A negative offset means that a proxy has
        none.
        """
        if key[:2] not in self._topics:
            return elsewhere() if from_proxy and requested < 0 else UNKNOWN
        reader = self._readers.get(key)
        was_proxy = from_proxy if reader is None else reader.from_proxy
        if was_proxy == from_proxy and not (was_proxy and requested < 0):
            return UNKNOWN
        known = UNKNOWN if reader is None else reader.offsets.get(queue_id, UNKNOWN)
        return known if known >= 0 else elsewhere()

    def scan(
        self,
        members: Callable[[str], Iterable[str]],
        commit: Callable[[str, str, int, int], object],
    ) -> None:
        """Commit the least offsets, and forget clients that are gone.

        `members` returns the connected client ids of a group; `commit` takes group, topic, queue and offset.
        """
        now, options = elapsed_millis(self._clock), self._options
        connected = {group: frozenset(members(group)) for _, group in self._topics}
        least: dict[tuple[str, str], dict[int, int]] = {}
        for key, reader in list(self._readers.items()):
            topic, group, client_id = key
            silence = (now - reader.updated) / 1000
            online = client_id in connected[group]
            if online or silence < options.broadcast_offset_expire_second:
                queues = least.setdefault((topic, group), {})
                for queue_id, offset in reader.offsets.items():
                    queues[queue_id] = min(offset, queues.get(queue_id, offset))
            life = (
                options.broadcast_offset_expire_max_second
                if online
                else options.broadcast_offset_expire_second
            )
            if silence >= life:
                self._forget(key)
        for (topic, group), queues in least.items():
            for queue_id, offset in queues.items():
                commit(broadcast_group(group), topic, queue_id, offset)

    def _new_reader(self, key: ClientKey, from_proxy: bool) -> _Reader:
        reader = self._readers[key] = _Reader(from_proxy, elapsed_millis(self._clock))
        self._topics[key[:2]] = self._topics.get(key[:2], 0) + 1
        return reader

    def _forget(self, key: ClientKey) -> None:
        self._count -= len(self._readers.pop(key).offsets)
        left = self._topics[key[:2]] - 1
        if left:
            self._topics[key[:2]] = left
        else:
            del self._topics[key[:2]]
