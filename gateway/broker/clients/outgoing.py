"""What the broker tells connected clients of its own accord, and asks them for administration.

Each door's clients have an `Outgoing` of that door. Standard: `Broker2Client`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred, fail

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


class OffsetReset(NamedTuple):
    """From where a group goes on in a topic; `timestamp` is the time that was asked for, in ms.

    `as_list` is for clients in C++, which read no table.
    """

    group: str
    topic: str
    timestamp: int
    offsets: dict[MessageQueue, int]
    as_list: bool = False


class DirectConsumption(NamedTuple):
    """A stored message, as its record, that one client is to consume now.

    The flags are None for a topic or a group that the broker does not know. `fields` is what the asker said,
    which the client is told too, be it known here or not.
    """

    group: str
    client_id: str
    message_id: str
    record: bytes
    broker_name: str
    topic: str | None
    topic_sys_flag: int | None
    group_sys_flag: int | None
    fields: Mapping[str, str] = {}


class PushedReply(NamedTuple):
    """A reply on its way to the requester: the message, its author's address and the broker's.

    The message's properties have the time of the push in them; `store_host` is packed as in a record;
    `store_timestamp` is the wall time in ms.
    """

    message: NewMessage
    born_address: str
    store_host: bytes
    store_timestamp: int


class ClientAnswer(NamedTuple):
    """What a client answered, which the broker hands back unread."""

    code: int
    body: bytes
    remark: str | None
    fields: dict[str, str]


class NotAnswered(Exception):
    """A client did not answer, or refused; the text says why."""

    def __init__(self, why: str, *, is_late: bool = False) -> None:
        super().__init__(why)
        self.is_late = is_late


class Outgoing(Protocol):
    """The way to one connected client. What is asked fails with `NotAnswered`.

    Who cannot be told something is not told; the log notes it.
    """

    @property
    def is_open(self) -> bool:
        """Whether what is said now would reach it."""
        ...

    def members_changed(self, group: str) -> None:
        """Tell it that others came to a group or left it: the members share the queues anew."""
        ...

    def reset_offsets(self, reset: OffsetReset) -> None:
        """Tell it from where to go on."""
        ...

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        """Ask it how far it is with the queues that it has."""
        ...

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        """Ask it what it is doing, with the stacks of its threads if those are wished for.

        `fields` as in `DirectConsumption`. Raises `OperationError` where the client is too old to know.
        """
        ...

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        """Have it consume a message now. Raises `OperationError` where the client is too old for that."""
        ...

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        """Hand over a reply to a request of its own; fires once it has taken that."""
        ...

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        """Ask what became of a transaction. It answers with an end of the transaction, or not at all."""
        ...


class _Unreachable:
    """The way to a client that can be told nothing."""

    is_open = False

    def members_changed(self, group: str) -> None:
        """It finds out by itself."""

    def reset_offsets(self, reset: OffsetReset) -> None:
        """It goes on where it is."""

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        return fail(NotAnswered("the client cannot be asked"))

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        return fail(NotAnswered("the client cannot be asked"))

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        return fail(NotAnswered("the client cannot be asked"))

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        return fail(NotAnswered("the client cannot be asked"))

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        """Another member of its group is asked in the next round."""


UNREACHABLE: Outgoing = _Unreachable()
"""Of clients whose door cannot ask them anything."""
