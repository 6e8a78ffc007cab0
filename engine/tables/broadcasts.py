"""How far broadcasting consumers have read, each for itself, and where one begins that comes another way.

A client of a broadcasting group keeps its own offsets, so the broker only watches what it pulls. That is
needed when the client's road changes (it reached the broker directly, now it comes through a proxy, or the
other way round: it has no offsets there), and when a proxy asks for its first time. What is known is in
memory; every few seconds the least offset of a group's clients is committed under the name
`GROUP@broadcast`. Standard: `BroadcastOffsetManager`.
"""

from collections.abc import Callable, Iterable

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.offsets import BROADCAST, SEPARATOR

UNKNOWN = -1
"""What `first_offset` answers when the client's own offset counts."""

SCAN_SECONDS = 5.0
"""How often `scan` is due."""

ClientKey = tuple[str, str, str]
"""Topic, group and client id."""


def broadcast_group(group: str) -> str:
    """Under which name the least offsets of a group's clients are committed."""
    return f"{group}{SEPARATOR}{BROADCAST}"


class _Reader:
    """What one client has asked for in a topic: offsets by queue, and when and how it last did."""

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
        """The client has asked for messages from this offset on."""
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
        asked: int,
        from_proxy: bool,
        elsewhere: Callable[[], int],
    ) -> int:
        """Where the client is sent to instead of the offset it asked for; `UNKNOWN` when that is right.

        `elsewhere` is asked where nothing is known of the client. An offset below 0 is a proxy's way to say
        that it knows none.
        """
        if key[:2] not in self._topics:
            return elsewhere() if from_proxy and asked < 0 else UNKNOWN
        reader = self._readers.get(key)
        was_proxy = from_proxy if reader is None else reader.from_proxy
        if was_proxy == from_proxy and not (was_proxy and asked < 0):
            return UNKNOWN
        known = UNKNOWN if reader is None else reader.offsets.get(queue_id, UNKNOWN)
        return known if known >= 0 else elsewhere()

    def scan(
        self,
        members: Callable[[str], Iterable[str]],
        commit: Callable[[str, str, int, int], object],
    ) -> None:
        """Commit the least offsets, and forget clients that have gone.

        `members` gives the client ids of a group that are connected; `commit` takes group, topic, queue and
        offset.
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
