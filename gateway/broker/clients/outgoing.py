"""Notifications and requests of the broker to connected clients.

Each front end gives its clients an `Outgoing`. RocketMQ: `Broker2Client`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred, fail

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


class OffsetReset(NamedTuple):
    """Offsets to which a group is reset in a topic; `timestamp` is the requested time in ms.

    `as_list` is for C++ clients, which cannot read a table.
    """

    group: str
    topic: str
    timestamp: int
    offsets: dict[MessageQueue, int]
    as_list: bool = False


class DirectConsumption(NamedTuple):
    """A stored message, as its record, that one client is to consume now.

    The flags are None for a topic or a group that does not exist in the broker. `fields` are those of the
    caller's request, known here or not; they are passed on to the client.
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
    """A reply for the requester: the message, its author's address and the broker's.

    The message's properties include the time of the push; `store_host` is packed as in a record;
    `store_timestamp` is the wall time in ms.
    """

    message: NewMessage
    born_address: str
    store_host: bytes
    store_timestamp: int


class ClientAnswer(NamedTuple):
    """A client's answer, which the broker returns unread."""

    code: int
    body: bytes
    remark: str | None
    fields: dict[str, str]


class NotAnswered(Exception):
    """A client did not answer, or refused; the text is the reason."""

    def __init__(self, why: str, *, is_late: bool = False) -> None:
        super().__init__(why)
        self.is_late = is_late


class Outgoing(Protocol):
    """Channel to one connected client. Requests fail with `NotAnswered`.

    A notification that cannot be sent is dropped, and the log notes it.
    """

    @property
    def is_open(self) -> bool:
        """True if a message sent now would reach the client."""
        ...

    def members_changed(self, group: str) -> None:
        """Notify the client that others joined or left its group: the members rebalance."""
        ...

    def reset_offsets(self, reset: OffsetReset) -> None:
        """Notify the client of the offsets to continue from."""
        ...

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        """Request the client's offsets of its queues."""
        ...

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        """Request the client's running info, with the stacks of its threads if `jstack`.

        `fields` as in `DirectConsumption`. Raises `OperationError` if the client is too old.
        """
        ...

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        """Have the client consume a message now. Raises `OperationError` if the client is too old."""
        ...

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        """Push a reply to a request of the client; return a Deferred that fires once it has accepted it."""
        ...

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        """Query the state of a transaction. The client answers by ending the transaction, or not at all."""
        ...


class _Unreachable:
    """Channel to a client that cannot be notified."""

    is_open = False

    def members_changed(self, group: str) -> None:
        """Skip: the client finds out by itself."""

    def reset_offsets(self, reset: OffsetReset) -> None:
        """Skip: the client continues from its own offsets."""

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
        """Skip: another member of its group is queried in the next round."""


UNREACHABLE: Outgoing = _Unreachable()
"""Channel of clients whose front end cannot send them requests."""
