"""How the queues of a topic are shared among the members of a group; pure.

A strategy is called by every member for itself, with the same sorted queues and the same sorted client ids,
and gives the queues of this member: so the members agree without talking. All of the standard's are here and
give what Java's give; a strategy of one's own is any object with `name` and `allocate`.
Standard: `AllocateMessageQueueStrategy` and its implementations, `ConsistentHashRouter`.
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
    """How queues are shared; `name` is what brokers are told that share them for us."""

    @property
    def name(self) -> str: ...

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues of `client_id`, which is one of `members`; both lists are sorted and not empty."""
        ...


class Averagely:
    """Neighbouring queues in shares of equal size, the first members getting one more: 9 over 4: 3, 2, 2,
    2."""

    name = "AVG"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """The member's share."""
        place = members.index(client_id)
        share, rest = divmod(len(queues), len(members))
        start = place * share + min(place, rest)
        return list(queues[start : start + share + (place < rest)])


class AveragelyByCircle:
    """Queues dealt out one by one in turn."""

    name = "AVG_BY_CIRCLE"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Every n-th queue, from the member's place on."""
        return list(queues[members.index(client_id) :: len(members)])


class ByConfig:
    """The queues that were configured, whoever else there is."""

    name = "CONFIG"

    def __init__(self, queues: Iterable[MessageQueue]) -> None:
        self._queues = list(queues)

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """Those queues."""
        return list(self._queues)


class ByMachineRoom:
    """Queues of brokers that are named `room@broker`, as far as the room is one of `rooms`."""

    name = "MACHINE_ROOM"

    def __init__(self, rooms: Iterable[str]) -> None:
        self._rooms = frozenset(rooms)

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """The member's share: neighbours, and one of the rest that is dealt out from the end."""
        chosen = [queue for queue in queues if self._is_ours(queue.broker_name)]
        place = members.index(client_id)
        share, rest = divmod(len(chosen), len(members))
        allocated = chosen[place * share : (place + 1) * share]
        if place < rest:
            allocated.append(chosen[place + share * len(members)])
        return allocated

    def _is_ours(self, broker_name: str) -> bool:
        # Java's split drops empty parts at the end.
        parts = broker_name.rstrip("@").split("@")
        return len(parts) == 2 and parts[0] in self._rooms


class MachineRoomNearby:
    """Queues stay in their machine room; those of rooms without members are shared by all.

    `inner` shares within a room. `room_of_queue` and `room_of_client` say where something is, and must
    not give nothing.
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
        """The member's share of its own room, then of each room that has no members. Raises `ValueError`
        for whatever is in no room."""
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
    """Each member stands at `nodes` places of a circle; a queue belongs to the next one. When a member comes
    or goes, few queues change hands. `hashing` places a text; the standard's uses the start of its MD5."""

    name = "CONSISTENT_HASH"

    def __init__(self, nodes: int = 10, hashing: Callable[[str], int] | None = None) -> None:
        if nodes < 0:
            raise ValueError(f"{nodes} places on the circle")
        self._nodes = nodes
        self._hash = hashing or _md5_start

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues whose next place is one of the member's."""
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
    """All queues to the members at one address (the beginning of their client ids), shared there by `inner`;
    if there is none, all members share them."""

    def __init__(self, address: str, inner: Strategy | None = None) -> None:
        self._address = address
        self._inner: Strategy = inner or Averagely()
        self.name = f"PINNED-{self._inner.name}"

    def allocate(
        self, group: str, client_id: str, queues: Queues, members: Sequence[str]
    ) -> list[MessageQueue]:
        """The member's share, nothing elsewhere."""
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
