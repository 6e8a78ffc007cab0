"""What a pull asks for, and what comes of it.

Standard: `PullMessageRequestHeader`, `PullSysFlag`, `PullMessageResponseHeader`, `ForbiddenType`.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final, Protocol

from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.errors import OperationError, Reason

# Bits of a pull's `sys_flag`.
FLAG_COMMIT_OFFSET: Final = 1
FLAG_SUSPEND: Final = 2
FLAG_SUBSCRIPTION: Final = 4
FLAG_CLASS_FILTER: Final = 8


class PullRequest(Protocol):
    """What is read of a pull; the header of the remoting request is one. Whoever stands between may copy it
    and set fields of the copy.

    `sub_version` is in ms since the epoch, `suspend_timeout_millis` how long the client waits for messages.
    """

    consumer_group: str
    topic: str
    lite_topic: str | None
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    sys_flag: int
    commit_offset: int
    suspend_timeout_millis: int
    subscription: str | None
    sub_version: int
    expression_type: str | None
    max_msg_bytes: int | None
    request_source: int | None
    proxy_froward_client_id: str | None


class PullStatus(Enum):
    """How a pull ended: with messages, with none yet, with a place to go on from at once, or with the offset
    that is to be asked for instead.
    """

    FOUND = "FOUND"
    NOT_FOUND = "NOT_FOUND"
    RETRY_IMMEDIATELY = "RETRY_IMMEDIATELY"
    OFFSET_MOVED = "OFFSET_MOVED"


class PullOutcome:
    """What a pull is answered. Made once for each; whoever stands between replaces fields.

    `found` is how the store's read ended, None where none was made; `body` holds the stored records back to
    back. `suggested_broker` is the id of the broker to ask next, `offset_delta` how far offsets of a static
    topic's queue are before those of the broker's queue.
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
        status: PullStatus,
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
        """The next offset, and both ends of the queue."""
        return self.next_offset, self.min_offset, self.max_offset

    def __repr__(self) -> str:
        return f"PullOutcome({self.status.name}, {len(self.body)} bytes, offsets {self.offsets})"


class ForbiddenType(IntEnum):
    """Why a pull was forbidden."""

    BROKER_FORBIDDEN = 1
    GROUP_FORBIDDEN = 2
    TOPIC_FORBIDDEN = 3
    BROADCASTING_DISABLE_FORBIDDEN = 4
    SUBSCRIPTION_FORBIDDEN = 5


class PullForbidden(OperationError):
    """A pull that is not permitted, and what forbids it."""

    def __init__(self, kind: ForbiddenType, message: str) -> None:
        super().__init__(Reason.NO_PERMISSION, message)
        self.kind = kind
