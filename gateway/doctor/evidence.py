"""What is known of a consumer group when it is examined; pure.

None stands for what is not known: nobody could be asked, or nobody answered. A check that needs it finds
nothing then. Times are ms since the epoch, offsets count messages of a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX


class QueueKey(NamedTuple):
    """A queue: the key of what is known of it."""

    topic: str
    broker: str
    queue_id: int


@dataclass(frozen=True, slots=True)
class Held:
    """What a member holds of a queue, as it says itself. `lacks_lock` is of ordered consumption only.

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
    """How a member does with a topic: messages a second, and ms that a message takes its listener.

    Standard: `ConsumeStatus`.
    """

    consumed: float = 0.0
    failed: float = 0.0
    listener_millis: float = 0.0


@dataclass(frozen=True, slots=True)
class ConnectedMember:
    """A connected client. `wants` is the expression by topic; `holds` and `rates` are None where the client
    did not say: those of other languages and of gRPC often do not."""

    client_id: str
    language: str = ""
    is_ordered: bool = False
    wants: dict[str, str] | None = None
    holds: dict[QueueKey, Held] | None = None
    rates: dict[str, Rates] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The next messages of a queue that the group has not consumed, and how many of them its filter lets
    through."""

    looked_at: int
    matched: int


@dataclass(frozen=True, slots=True)
class ConsumedQueue:
    """A queue of a topic the group consumes. `consumed` is the next message, -1 where it never read;
    `pulled` is how far messages were handed out."""

    place: QueueKey
    least: int
    end: int
    consumed: int
    pulled: int | None = None
    consumed_stored_at: int | None = None
    """When the message consumed last was stored."""
    sample: Sample | None = None

    @property
    def behind(self) -> int:
        """How many messages wait."""
        return max(0, self.end - max(self.consumed, self.least))


@dataclass(frozen=True, slots=True)
class SubscribedTopic:
    """A topic the group subscribes to, or has offsets in. `incoming` is messages a second."""

    name: str
    has_route: bool = True
    is_readable: bool = True
    is_allowed: bool = True
    """Whether this group may read it (`UPDATE_AND_GET_GROUP_FORBIDDEN`)."""
    incoming: float | None = None
    transactions: Sequence[int] | None = None
    """When each of its open transactions began."""


def examined(topics: Iterable[str]) -> list[str]:
    """Return the topics of a group that are examined, sorted: those for retries and dead letters are not."""
    return sorted(one for one in topics if not one.startswith((RETRY_PREFIX, DLQ_PREFIX)))


@dataclass(frozen=True, slots=True)
class DiagnosedGroup:
    """A consumer group as it was found at the time `at`. `queues` are those of its topics, without those
    for retries, whose messages are counted in `retries_behind`. `is_complete`: every server that knows of the
    group has answered, so that what none of them said does not exist."""

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

    @property
    def behind(self) -> int:
        """Number of messages that wait in all, retries included."""
        return sum(one.behind for one in self.queues) + self.retries_behind
