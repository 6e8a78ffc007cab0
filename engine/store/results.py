"""Statuses and results of putting, reading and querying."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from mqgateway.engine.message import offset_message_id, offset_message_ids
from mqgateway.engine.options import StoreOptions

Accept = Callable[[Mapping[str, str]], bool]
"""A filter: returns True for the properties of a matching message."""


RecordSpan = tuple[int, int, int]
"""Queue offset, physical offset and size of a record."""


Record = bytes | memoryview
"""A stored record.

A view is borrowed: it refers to the log's memory, which may be truncated and rewritten once the caller
returns to the event loop. Copy it to keep it longer.
"""


class PutStatus(Enum):
    """Outcome of a put. RocketMQ: `PutMessageStatus`."""

    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPPED_FILE_FAILED = "CREATE_MAPPED_FILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    OS_PAGE_CACHE_BUSY = "OS_PAGE_CACHE_BUSY"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"
    IN_SYNC_REPLICAS_NOT_ENOUGH = "IN_SYNC_REPLICAS_NOT_ENOUGH"
    PUT_TO_REMOTE_BROKER_FAIL = "PUT_TO_REMOTE_BROKER_FAIL"
    LMQ_CONSUME_QUEUE_NUM_EXCEEDED = "LMQ_CONSUME_QUEUE_NUM_EXCEEDED"
    WHEEL_TIMER_FLOW_CONTROL = "WHEEL_TIMER_FLOW_CONTROL"
    WHEEL_TIMER_MSG_ILLEGAL = "WHEEL_TIMER_MSG_ILLEGAL"
    WHEEL_TIMER_NOT_ENABLE = "WHEEL_TIMER_NOT_ENABLE"


_PUT_OK: Final = PutStatus.PUT_OK  # a look-up in an enumeration is slow


class PutResult:
    """Positions of a stored message, or of the messages of a batch.

    `queue_offset` and `physical_offset` are those of the first; `end_offset` is the log offset after the
    last, to wait for durability. `count` is the number of messages stored; `store_timestamp` is in ms. Unless
    `status` is PUT_OK nothing was stored, offsets and count are 0 and `remark` may give the reason.
    """

    __slots__ = (
        "_offsets",
        "_store_host",
        "count",
        "end_offset",
        "physical_offset",
        "queue_offset",
        "remark",
        "status",
        "store_timestamp",
    )

    def __init__(
        self,
        status: PutStatus,
        store_host: bytes = b"",
        queue_offset: int = 0,
        physical_offset: int = 0,
        end_offset: int = 0,
        store_timestamp: int = 0,
        offsets: Sequence[int] | None = None,
        remark: str = "",
    ) -> None:
        self.status = status
        self._store_host = store_host
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.end_offset = end_offset
        self.store_timestamp = store_timestamp
        self._offsets = offsets
        self.count = len(offsets) if offsets is not None else 1 if status is _PUT_OK else 0
        self.remark = remark

    @property
    def message_id(self) -> str:
        """The offset message id; for a batch those of its messages, separated by commas."""
        if self._offsets is None:
            return offset_message_id(self._store_host, self.physical_offset)
        return offset_message_ids(self._store_host, self._offsets)

    def __repr__(self) -> str:
        return f"PutResult({self.status.name}, queue offset {self.queue_offset}, at {self.physical_offset})"


class TransferLimits(NamedTuple):
    """Limits in bytes and messages of one response, for the newest part of the log and for older parts.

    One message is always returned, whatever its size.
    """

    fresh_bytes: int
    fresh_count: int
    old_bytes: int
    old_count: int


UNLIMITED: Final = 0x7FFFFFFF
"""A number of bytes or messages above every limit."""
NO_LIMITS: Final = TransferLimits(UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)


def transfer_limits(options: StoreOptions) -> TransferLimits:
    """Return the limits of a response from the settings.

    RocketMQ: `DefaultMessageStore.isTheBatchFull`.
    """
    return TransferLimits(
        options.max_transfer_bytes_on_message_in_memory,
        options.max_transfer_count_on_message_in_memory,
        options.max_transfer_bytes_on_message_in_disk,
        options.max_transfer_count_on_message_in_disk,
    )


class GetStatus(Enum):
    """Outcome of a read. RocketMQ: `GetMessageStatus`."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"
    OFFSET_RESET = "OFFSET_RESET"


class GetResult:
    """Messages of one queue.

    - `body`: the stored records, concatenated; `queue_offsets`: their offsets (of a batch its first).
    - `count`: the number of messages in them.
    - `next_offset`: the offset to read next; `min_offset` and `max_offset` are the queue's.
    - `behind`: the distance in bytes from the last of them to the log's end; `suggest_slave`: True if that is
      so large that a slave should serve the reader.
    - `records`: single records instead of `body`, for a read that does not expand batches; they are borrowed.
    """

    __slots__ = (
        "behind",
        "body",
        "count",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_offsets",
        "records",
        "status",
        "suggest_slave",
    )

    def __init__(
        self,
        status: GetStatus,
        next_offset: int,
        min_offset: int,
        max_offset: int,
        body: bytes = b"",
        queue_offsets: Sequence[int] = (),
        suggest_slave: bool = False,
        count: int | None = None,
        behind: int = 0,
        records: Sequence[Record] = (),
    ) -> None:
        self.status = status
        self.records = records
        self.behind = behind
        self.count = len(queue_offsets) if count is None else count
        self.next_offset = next_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.body = body
        self.queue_offsets = queue_offsets
        self.suggest_slave = suggest_slave

    @property
    def size(self) -> int:
        """Bytes of the messages found."""
        return len(self.body)

    def __repr__(self) -> str:
        return f"GetResult({self.status.name}, {self.count} messages, next {self.next_offset})"


def outside(offset: int, low: int, high: int) -> GetResult:
    """Return the result of a read at an offset outside of a queue with these ends."""
    if high == 0:
        return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
    if offset < low:
        return GetResult(GetStatus.OFFSET_TOO_SMALL, low, low, high)
    if offset == high:
        return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
    return GetResult(GetStatus.OFFSET_OVERFLOW_BADLY, high, low, high)


class QueryResult(NamedTuple):
    """Records that have a topic and a key, by offset.

    The last two fields are store time in ms and physical offset of the index's newest entry.
    """

    records: list[bytes]
    last_update_timestamp: int
    last_update_offset: int


class Arrival:
    """A message that became readable. `next_offset` is the queue's new max offset; times in ms."""

    __slots__ = ("next_offset", "properties", "queue_id", "store_timestamp", "tags_code", "topic")

    def __init__(
        self,
        topic: str,
        queue_id: int,
        next_offset: int,
        tags_code: int,
        store_timestamp: int,
        properties: dict[str, str] | None,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.next_offset = next_offset
        self.tags_code = tags_code
        self.store_timestamp = store_timestamp
        self.properties = properties


class RecoveryReport(NamedTuple):
    """Result of a start: whether the last stop was clean, the end of the log, and the work of recovery."""

    clean: bool
    end_offset: int
    scanned_bytes: int
    dispatched: int
    seconds: float
    ended_by: str
    """Reason why the bytes at the end are not a record; for a log that simply ends, that the magic is 0."""

    @property
    def in_words(self) -> str:
        """The result as text, to follow "the store is open"."""
        if self.clean:
            return f"after an orderly stop, up to {self.end_offset}, in {self.seconds:.2f} s"
        why = f"; the rest is not a record: {self.ended_by}" if self.ended_by else ""
        return (
            f"after an unclean stop, up to {self.end_offset}, in {self.seconds:.2f} s: "
            f"{self.scanned_bytes} bytes were read again, {self.dispatched} messages put into queues{why}"
        )
