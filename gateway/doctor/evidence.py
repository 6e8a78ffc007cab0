"""Evidence about a consumer group that is examined; pure.

None means unknown: no server or member could be queried, or none answered. A check that needs the value then
finds nothing. Times are ms since the epoch, offsets count messages of a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX

REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
"""States of a group whose partitions are being assigned. Standard: Kafka's `GroupState`."""


class QueueKey(NamedTuple):
    """A queue, as the key of its evidence."""

    topic: str
    broker: str
    queue_id: int


@dataclass(frozen=True, slots=True)
class Held:
    """A member's state of a queue, as reported by the member. `lacks_lock` is for ordered consumption only.

    Standard: `ProcessQueueInfo`.
    """

    cached: int = 0
    cached_mib: int = 0
    lacks_lock: bool = False
    last_pull: int = 0
    last_consume: int = 0
    last_lock: int = 0


@dataclass(frozen=True, slots=True)
class Rates:
    """A member's rates for a topic: messages a second, and ms of the listener per message.

    Standard: `ConsumeStatus`.
    """

    consumed: float = 0.0
    failed: float = 0.0
    listener_millis: float = 0.0


@dataclass(frozen=True, slots=True)
class ConnectedMember:
    """A connected client.

    `wants` maps topics to filter expressions. `holds` and `rates` are None if the client does not report
    them, as many clients of other languages and of gRPC.
    """

    client_id: str
    language: str = ""
    is_ordered: bool = False
    wants: dict[str, str] | None = None
    holds: dict[QueueKey, Held] | None = None
    rates: dict[str, Rates] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Number of examined next messages of a queue, and number of those that match the group's filter."""

    looked_at: int
    matched: int


@dataclass(frozen=True, slots=True)
class ConsumedQueue:
    """A queue of a topic that the group consumes.

    `consumed` is the offset of the next message, -1 if the group never consumed the queue; `pulled` is the
    offset up to which messages were delivered.
    """

    place: QueueKey
    least: int
    end: int
    consumed: int
    pulled: int | None = None
    consumed_stored_at: int | None = None
    """Store time of the last consumed message."""
    sample: Sample | None = None

    @property
    def behind(self) -> int:
        """Number of waiting messages."""
        return max(0, self.end - max(self.consumed, self.least))


@dataclass(frozen=True, slots=True)
class SubscribedTopic:
    """A topic to which the group subscribes, or in which it has offsets. `incoming` is messages a second."""

    name: str
    has_route: bool = True
    is_readable: bool = True
    is_allowed: bool = True
    """True if this group may read the topic (`UPDATE_AND_GET_GROUP_FORBIDDEN`)."""
    incoming: float | None = None
    transactions: Sequence[int] | None = None
    """Start times of the open transactions."""


def examined(topics: Iterable[str]) -> list[str]:
    """Return the topics of a group to examine, sorted: all except those of retries and dead letters."""
    return sorted(one for one in topics if not one.startswith((RETRY_PREFIX, DLQ_PREFIX)))


@dataclass(frozen=True, slots=True)
class DiagnosedGroup:
    """State of a consumer group at the time `at`.

    `queues` are those of its topics except the retry topic, whose messages are counted in `retries_behind`.
    `is_complete`: all servers that know the group have answered, so that unreported items do not exist.
    `state` is that of a group of Kafka clients, empty for other groups. `idle_millis` is the time since the
    progress of the group was last seen to change, None if it was not watched.
    """

    name: str
    at: int
    is_known: bool = True
    may_consume: bool = True
    is_popping: bool = False
    is_broadcasting: bool = False
    members: list[ConnectedMember] = field(default_factory=list)
    topics: dict[str, SubscribedTopic] = field(default_factory=dict)
    queues: list[ConsumedQueue] = field(default_factory=list)
    retries_behind: int = 0
    dead_letters: int = 0
    last_dead_letter: int | None = None
    retry_max: int | None = None
    is_complete: bool = True
    state: str = ""
    idle_millis: int | None = None

    @property
    def is_rebalancing(self) -> bool:
        """True while partitions are assigned to the members of a group of Kafka clients."""
        return self.state in REBALANCING

    @property
    def behind(self) -> int:
        """Number of all waiting messages, including retries."""
        return sum(one.behind for one in self.queues) + self.retries_behind
