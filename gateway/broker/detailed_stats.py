"""Statistics that cost time on each request: counted only while request 315 asks for them.

While they are counted, requests are watched as they are answered; otherwise they cost no request anything. So
the first query of a name finds nothing, like a query of a key that never counted, and starts the counting.
Sizes are bytes of bodies. Latencies are ms from the start of a request to its answer; those of pulls that
waited for messages are 0.

RocketMQ: `BrokerStatsManager`. Departures: it always counts them, QUEUE_GET_* of delayed messages only; and
under DLQ_PUT_NUMS, GROUP_GET_FALL_SIZE and GROUP_GET_FALL_TIME it has nothing that could be queried.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterable

from mqgateway.engine.clock import Clock
from mqgateway.engine.pop.names import ORDER_REVIVE_QUEUE
from mqgateway.engine.pop.receipts import Receipt
from mqgateway.gateway.broker.stats import (
    BROKER_ACK_NUMS,
    BROKER_CK_NUMS,
    GROUP_ACK_NUMS,
    GROUP_CK_NUMS,
    GROUP_GET_LATENCY,
    QUEUE_GET_NUMS,
    QUEUE_GET_SIZE,
    QUEUE_PUT_NUMS,
    QUEUE_PUT_SIZE,
    TOPIC_PUT_LATENCY,
    BrokerStats,
)
from mqgateway.gateway.codec.bodies import BatchAckMessageRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
    PullMessageRequestHeader,
    SendMessageRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher

KEPT_SECONDS = 600.0
"""Seconds after the last query of any of these names until counting ends."""
_STORED = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
)


class DetailedStats:
    """Hook that counts while the statistics are queried.

    `cluster` is the key of the broker's own counts. `later` calls a function after a number of seconds.
    """

    def __init__(
        self,
        stats: BrokerStats,
        clock: Clock,
        dispatchers: Iterable[Dispatcher],
        cluster: str,
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._stats = stats
        self._clock = clock
        self._later = later
        self._dispatchers = tuple(dispatchers)
        self._cluster = cluster
        self._queried_at: float | None = None
        stats.watch_details(self.note_query)

    @property
    def is_on(self) -> bool:
        """True while requests are watched."""
        return self._queried_at is not None

    def note_query(self) -> None:
        """Note that one of these statistics is queried, and start counting."""
        if self._queried_at is None:
            for one in self._dispatchers:
                one.watch_with([*one.hooks, self])
            self._later(KEPT_SECONDS, self._look)
        self._queried_at = self._clock.monotonic()

    def _look(self) -> None:
        """Stop counting if there was no query for `KEPT_SECONDS`."""
        assert self._queried_at is not None
        left = self._queried_at + KEPT_SECONDS - self._clock.monotonic()
        if left > 0:
            self._later(left, self._look)
            return
        self._queried_at = None
        self._stats.forget_details()
        for one in self._dispatchers:
            one.watch_with([hook for hook in one.hooks if hook is not self])

    # Interface of a hook

    def before(self, call: Call) -> None:
        """Note the start of a request."""
        call.began = self._clock.monotonic()
        call.is_held = False

    def after(self, call: Call, reply: Reply) -> None:
        """Count an answered request."""
        count = _COUNTED.get(call.command.code)
        if count is not None and reply.code in _STORED:
            count(self, call, reply)

    def _millis(self, call: Call, *, with_waiting: bool) -> int:
        try:
            if call.is_held and not with_waiting:
                return 0
            return int((self._clock.monotonic() - call.began) * 1000)
        except AttributeError:  # the request began before counting did
            return 0

    def _sent(self, call: Call, reply: Reply) -> None:
        header, stored = call.header, reply.ext
        if not isinstance(header, SendMessageRequestHeader) or stored is None:
            return
        queue_id = stored["queueId"]
        queue = f"{header.topic}@{queue_id}"
        self._stats.add(QUEUE_PUT_NUMS, queue, stored["msgId"].count(",") + 1)
        self._stats.add(QUEUE_PUT_SIZE, queue, len(call.body))
        # The latency of a send includes waiting for the disk and for slaves.
        millis = self._millis(call, with_waiting=True)
        self._stats.add(TOPIC_PUT_LATENCY, f"{queue_id}@{header.topic}", millis)

    def _pulled(self, call: Call, reply: Reply) -> None:
        header = call.header
        if not isinstance(header, PullMessageRequestHeader) or reply.code != ResponseCode.SUCCESS:
            return
        group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
        queue = f"{topic}@{queue_id}@{group}"
        self._stats.add(QUEUE_GET_NUMS, queue, _records(reply.body))
        self._stats.add(QUEUE_GET_SIZE, queue, len(reply.body))
        millis = self._millis(call, with_waiting=False)
        self._stats.add(GROUP_GET_LATENCY, f"{queue_id}@{topic}@{group}", millis)

    def _popped(self, call: Call, reply: Reply) -> None:
        header, found = call.header, reply.header
        if not isinstance(header, PopMessageRequestHeader) or not isinstance(found, PopMessageResponseHeader):
            return
        key = f"{header.topic}@{header.consumer_group}"
        millis = self._millis(call, with_waiting=False)
        self._stats.add(GROUP_GET_LATENCY, f"{header.queue_id}@{key}", millis)
        if not header.order and found.start_offset_info:
            self._check_points(key, len(found.start_offset_info.split(";")))

    def _acknowledged(self, call: Call, reply: Reply) -> None:
        header = call.header
        if isinstance(header, AckMessageRequestHeader) and not _is_ordered(header.extra_info):
            self._acks(f"{header.topic}@{header.consumer_group}", 1)

    def _acknowledged_many(self, call: Call, reply: Reply) -> None:
        try:
            for ack in BatchAckMessageRequestBody.decode(call.body).acks:
                if ack.revive_queue_id != ORDER_REVIVE_QUEUE:
                    self._acks(f"{ack.topic}@{ack.consumer_group}", _bits(ack.bit_set))
        except (ProtocolError, binascii.Error):
            return  # the request was answered all the same: it contained nothing

    def _changed(self, call: Call, reply: Reply) -> None:
        header = call.header
        if isinstance(header, ChangeInvisibleTimeRequestHeader) and not _is_ordered(header.extra_info):
            key = f"{header.topic}@{header.consumer_group}"
            self._acks(key, 1)
            self._check_points(key, 1)

    def _acks(self, key: str, count: int) -> None:
        self._stats.add(GROUP_ACK_NUMS, key, count)
        self._stats.add(BROKER_ACK_NUMS, self._cluster, count)

    def _check_points(self, key: str, count: int) -> None:
        self._stats.add(GROUP_CK_NUMS, key, count)
        self._stats.add(BROKER_CK_NUMS, self._cluster, count)


_COUNTED: dict[int, Callable[[DetailedStats, Call, Reply], None]] = {
    RequestCode.SEND_MESSAGE: DetailedStats._sent,
    RequestCode.SEND_MESSAGE_V2: DetailedStats._sent,
    RequestCode.SEND_BATCH_MESSAGE: DetailedStats._sent,
    RequestCode.PULL_MESSAGE: DetailedStats._pulled,
    RequestCode.LITE_PULL_MESSAGE: DetailedStats._pulled,
    RequestCode.POP_MESSAGE: DetailedStats._popped,
    RequestCode.ACK_MESSAGE: DetailedStats._acknowledged,
    RequestCode.BATCH_ACK_MESSAGE: DetailedStats._acknowledged_many,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: DetailedStats._changed,
}


def _records(body: bytes) -> int:
    """Return the number of records in the answer to a pull: each begins with its length."""
    count = at = 0
    while at + 4 <= len(body):
        length = int.from_bytes(body[at : at + 4], "big")
        if length <= 0:
            break
        count, at = count + 1, at + length
    return count


def _is_ordered(extra_info: str) -> bool:
    try:
        return Receipt.parse(extra_info).is_ordered
    except ValueError:
        return False


def _bits(text: str) -> int:
    return int.from_bytes(b64decode(text), "little").bit_count()
