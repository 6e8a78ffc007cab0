"""Requests to pull, and their outcomes.

RocketMQ: `PullMessageRequestHeader`, `PullSysFlag`, `PullMessageResponseHeader`, `ForbiddenType`.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.errors import OperationError, Reason


class PullRequest:
    """A request for messages of one queue from an offset on.

    `max_wait` is how long the caller waits for messages, in ms; None for a caller that does not wait.
    `commit_offset` is committed along with it, unless it is below 0. With `is_subscribed` the messages are
    those of the group's subscription, of version `subscription_version` (ms since the epoch) or a later one;
    otherwise those that match `expression`. `lite_topic` names a lite topic of the topic. `is_lite` marks a
    lite pull consumer. A proxy pulls for one of its clients, `proxied_client`; with `is_broadcast` that is a
    broadcasting one.

    `header` is the request as a remoting client sent it. It is read only to forward the request to another
    broker, which gets the fields that have no meaning here, too.
    """

    __slots__ = (
        "commit_offset",
        "expression",
        "expression_type",
        "group",
        "header",
        "is_broadcast",
        "is_lite",
        "is_subscribed",
        "lite_topic",
        "max_messages",
        "max_wait",
        "offset",
        "proxied_client",
        "queue_id",
        "subscription_version",
        "topic",
    )

    def __init__(
        self,
        group: str,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        max_wait: int | None,
        expression: str | None,
        expression_type: str | None,
        commit_offset: int = -1,
        is_subscribed: bool = False,
        subscription_version: int = 0,
        lite_topic: str | None = None,
        is_lite: bool = False,
        is_broadcast: bool = False,
        proxied_client: str | None = None,
        header: object | None = None,
    ) -> None:
        self.group = group
        self.topic = topic
        self.queue_id = queue_id
        self.offset = offset
        self.max_messages = max_messages
        self.max_wait = max_wait
        self.expression = expression
        self.expression_type = expression_type
        self.commit_offset = commit_offset
        self.is_subscribed = is_subscribed
        self.subscription_version = subscription_version
        self.lite_topic = lite_topic
        self.is_lite = is_lite
        self.is_broadcast = is_broadcast
        self.proxied_client = proxied_client
        self.header = header

    def elsewhere(
        self, queue_id: int, offset: int, max_messages: int, max_wait: int | None, commit_offset: int
    ) -> PullRequest:
        """Return a copy of the request with another queue, offset, limit, wait and commit offset."""
        return PullRequest(
            self.group,
            self.topic,
            queue_id,
            offset,
            max_messages,
            max_wait,
            self.expression,
            self.expression_type,
            commit_offset,
            self.is_subscribed,
            self.subscription_version,
            self.lite_topic,
            self.is_lite,
            self.is_broadcast,
            self.proxied_client,
            self.header,
        )


class PullOutcomeStatus(Enum):
    """Result of a pull: messages, none yet, an offset to continue from at once, or a corrected offset."""

    FOUND = "FOUND"
    NOT_FOUND = "NOT_FOUND"
    RETRY_IMMEDIATELY = "RETRY_IMMEDIATELY"
    OFFSET_MOVED = "OFFSET_MOVED"


class PullOutcome:
    """Outcome of a pull. One is made for each pull; packages that wrap pulls replace its fields.

    `found` is the status of the store's read, None if there was none. `body` contains the stored records,
    concatenated. `suggested_broker` is the id of the broker to read from next. `offset_delta` is the number
    to add to offsets of the broker's queue for those of a static topic's queue.
    """

    __slots__ = (
        "body",
        "found",
        "group_sys_flag",
        "max_offset",
        "min_offset",
        "next_offset",
        "offset_delta",
        "status",
        "suggested_broker",
        "topic_sys_flag",
    )

    def __init__(
        self,
        status: PullOutcomeStatus,
        found: GetStatus | None,
        body: bytes,
        next_offset: int,
        min_offset: int,
        max_offset: int,
        suggested_broker: int,
        topic_sys_flag: int,
        group_sys_flag: int,
        offset_delta: int | None = None,
    ) -> None:
        self.status = status
        self.found = found
        self.body = body
        self.next_offset = next_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.suggested_broker = suggested_broker
        self.topic_sys_flag = topic_sys_flag
        self.group_sys_flag = group_sys_flag
        self.offset_delta = offset_delta

    @property
    def offsets(self) -> tuple[int, int, int]:
        """Next offset, and minimum and maximum offset of the queue."""
        return self.next_offset, self.min_offset, self.max_offset

    def __repr__(self) -> str:
        return f"PullOutcome({self.status.name}, {len(self.body)} bytes, offsets {self.offsets})"


class ForbiddenType(IntEnum):
    """Reason why a pull was forbidden."""

    BROKER_FORBIDDEN = 1
    GROUP_FORBIDDEN = 2
    TOPIC_FORBIDDEN = 3
    BROADCASTING_DISABLE_FORBIDDEN = 4
    SUBSCRIPTION_FORBIDDEN = 5


class PullForbidden(OperationError):
    """Refusal of a pull that is not permitted; `kind` is the reason."""

    def __init__(self, kind: ForbiddenType, message: str) -> None:
        super().__init__(Reason.NO_PERMISSION, message)
        self.kind = kind
