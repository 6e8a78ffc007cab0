"""Strategies that allocate the queues of a topic to the members of a group; no I/O.

Every member calls the strategy itself with the same sorted queues and the same sorted client ids, and gets
its own queues. So members agree without communication. All strategies of RocketMQ are here, with the same
results as in Java. A custom strategy is any object with `name` and `allocate`.

RocketMQ: `AllocateMessageQueueStrategy` and its implementations, `ConsistentHashRouter`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from hashlib import md5
from typing import Protocol, TypeVar

from mqgateway.gateway.codec.bodies import MessageQueue

Queues = Sequence[MessageQueue]
T = TypeVar("T")


class Strategy(Protocol):
    """Allocation strategy. `name` is sent to brokers that allocate queues for their clients."""

    @property
    def name(self) -> str:
        """Name of the strategy in requests to brokers."""
        ...

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues of `client_id`, a member of `members`. Both lists are sorted and not empty."""
        ...


class Averagely:
    """Contiguous ranges of equal size; the first members get one more.

    9 queues over 4 members are 3, 2, 2, 2.
    """

    name = "AVG"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the member's range."""
        place = members.index(client_id)
        share, rest = divmod(len(queues), len(members))
        start = place * share + min(place, rest)
        return list(queues[start : start + share + (place < rest)])


class AveragelyByCircle:
    """Round-robin allocation of single queues."""

    name = "AVG_BY_CIRCLE"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return every n-th queue, starting at the member's index."""
        return list(queues[members.index(client_id) :: len(members)])


class ByConfig:
    """Configured queues, regardless of other members."""

    name = "CONFIG"

    def __init__(self, queues: Iterable[MessageQueue]) -> None:
        self._queues = list(queues)

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the configured queues."""
        return list(self._queues)


class ByMachineRoom:
    """Queues of brokers named `room@broker` whose room is in `rooms`."""

    name = "MACHINE_ROOM"

    def __init__(self, rooms: Iterable[str]) -> None:
        self._rooms = frozenset(rooms)

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the member's contiguous range.

        The first members also get one of the remaining queues at the end.
        """
        chosen = [queue for queue in queues if self._is_ours(queue.broker_name)]
        place = members.index(client_id)
        share, rest = divmod(len(chosen), len(members))
        allocated = chosen[place * share : (place + 1) * share]
        if place < rest:
            allocated.append(chosen[place + share * len(members)])
        return allocated

    def _is_ours(self, broker_name: str) -> bool:
        # Java's split drops trailing empty parts.
        parts = broker_name.rstrip("@").split("@")
        return len(parts) == 2 and parts[0] in self._rooms


class MachineRoomNearby:
    """Queues allocated within their machine room; rooms without members are shared by all members.

    `inner` allocates within a room. `room_of_queue` and `room_of_client` return the room, which must not be
    empty.
    """

    def __init__(
        self,
        inner: Strategy,
        room_of_queue: Callable[[MessageQueue], str],
        room_of_client: Callable[[str], str],
    ) -> None:
        self._inner = inner
        self._room_of_queue = room_of_queue
        self._room_of_client = room_of_client
        self.name = f"MACHINE_ROOM_NEARBY-{inner.name}"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the member's share of its own room, then of each room without members.

        Raises `ValueError` for a queue or client without a room.
        """
        queues_by_room = _grouped(queues, self._room_of_queue)
        members_by_room = _grouped(members, self._room_of_client)
        here = self._room_of_client(client_id)
        allocated: list[MessageQueue] = []
        if here in queues_by_room:
            allocated += self._inner.allocate(group, client_id, queues_by_room[here], members_by_room[here])
        for room in sorted(queues_by_room):
            if room not in members_by_room:
                allocated += self._inner.allocate(group, client_id, queues_by_room[room], members)
        return allocated


class ConsistentHash:
    """Consistent hashing: each member has `nodes` points on a ring, and a queue belongs to the next point.

    When a member joins or leaves, few queues move. `hashing` maps a text to the ring; the default, as
    RocketMQ's, uses the first four bytes of its MD5.
    """

    name = "CONSISTENT_HASH"

    def __init__(self, nodes: int = 10, hashing: Callable[[str], int] | None = None) -> None:
        if nodes < 0:
            raise ValueError(f"{nodes} places on the circle")
        self._nodes = nodes
        self._hash = hashing or _md5_start

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the queues whose next point on the ring is the member's."""
        circle: dict[int, str] = {}
        for member in members:
            for number in range(self._nodes):
                circle[self._hash(f"{member}-{number}")] = member
        places = sorted(circle)
        return [queue for queue in queues if places and self._owner(queue, places, circle) == client_id]

    def _owner(self, queue: MessageQueue, places: list[int], circle: dict[int, str]) -> str:
        text = f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"
        at = bisect_left(places, self._hash(text))
        return circle[places[at % len(places)]]


class PinnedTo:
    """All queues to the members at one address (the first part of their client ids), allocated by `inner`.

    If there are no such members, all members share the queues.
    """

    def __init__(self, address: str, inner: Strategy | None = None) -> None:
        self._address = address
        self._inner: Strategy = inner or Averagely()
        self.name = f"PINNED-{self._inner.name}"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Return the member's share; empty for members at other addresses."""
        there = [member for member in members if member.partition("@")[0] == self._address]
        if not there:
            return self._inner.allocate(group, client_id, queues, members)
        return self._inner.allocate(group, client_id, queues, there) if client_id in there else []


def _grouped(things: Sequence[T], room_of: Callable[[T], str]) -> dict[str, list[T]]:
    rooms: dict[str, list[T]] = {}
    for thing in things:
        room = room_of(thing)
        if not room:
            raise ValueError(f"{thing} is in no machine room")
        rooms.setdefault(room, []).append(thing)
    return rooms


def _md5_start(text: str) -> int:
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")
