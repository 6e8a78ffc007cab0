"""Reads a range of a queue: prefetches over one connection and makes batches of the replies.

Bodies of replies go unchanged into `Rows`. A batch is made when enough rows have been collected, not for each
pull. The memory of a task is bounded: rows up to `taskMemoryBytes`, and `pullsInFlight` replies.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.answers import decode_header
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.pulling import BYTES_MAX, STATUS, SUBSCRIPTION
from mqgateway.gateway.client.subscriptions import subscription
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader, PullMessageResponseHeader
from mqgateway.pipeline.brokers import Brokers, Patience
from mqgateway.pipeline.columns import Place
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.planning import Range, shown
from mqgateway.pipeline.request import ReadRequest
from mqgateway.pipeline.rows import Rows
from mqgateway.pipeline.static_topics import is_static
from mqgateway.pipeline.walk import Answer, RangeWalk

T = TypeVar("T")

NO_SQL = "does not support consumer to filter message by SQL92"
"""Part of the remark of a broker that refuses SQL filters, as it does by default."""
REST_SECONDS = 0.2
"""Delay before an offset that had no message is pulled again."""


class RangeReader:
    """Reads ranges for one request."""

    def __init__(self, request: ReadRequest, tls: TlsOptions) -> None:
        self._request = request
        self._options = request.options
        self._loop = Loop.shared()
        self._brokers = Brokers(request.options, tls)
        self._pause = threading.Event()

    def close(self) -> None:
        """Close the connections."""
        self._brokers.close()

    def check_filter(self, ranges: Iterable[Range]) -> None:
        """Pull one message from each broker, so that a broker that refuses the filter does so before tasks
        start. Raises `PipelineError` and `ClientError`."""
        for one in {one.queue.broker_name: one for one in ranges}.values():
            self._begin(one.queue, one.start, 1).result()

    def batches(self, range_: Range, make: Callable[[Rows, Place], T]) -> Iterator[T]:
        """Yield the results of `make` for the rows of a range, many rows at a time."""
        options = self._options
        place = Place(range_.queue.topic, range_.queue.broker_name)
        tags = subscription(range_.queue.topic, self._request.wanted, 0).tags_set
        rows = Rows()
        for asked, answer in self.replies(range_):
            before, delta = len(rows), answer.offset_delta
            rows.add_reply(answer.body, asked - delta, range_.end - delta, range_.queue.broker_name, tags)
            if is_static(range_.queue):
                rows.renumber(before, range_.queue.queue_id, delta)
            if len(rows) >= options.arrow_batch_rows or rows.size >= options.task_memory_bytes:
                yield make(rows, place)
                rows.clear()
        if rows:
            yield make(rows, place)

    def replies(self, range_: Range) -> Iterator[tuple[int, Answer]]:
        """Yield replies with messages, and the requested offset of each. Raises `DataLoss` and
        `ClientError`."""
        options = self._options
        walk = RangeWalk(
            range_,
            options.pull_batch_size,
            ahead=options.pulls_in_flight,
            fail_on_data_loss=options.fail_on_data_loss,
            is_filtered=self._request.is_filtered,
        )
        patience = Patience(options)
        pending: deque[tuple[int, Future[Answer]]] = deque()
        while not walk.is_done:
            self._ask(walk, range_, pending)
            asked, outcome = pending.popleft()
            epoch = walk.epoch
            try:
                answer = outcome.result()
            except ClientError as error:
                pending.clear()
                walk.forget_requested()
                patience.wait(_named(error, range_, asked))
                self._brokers.refresh(range_.queue.topic)
                continue
            patience.renew()
            belongs = walk.take(asked, answer)
            if walk.epoch != epoch:
                pending.clear()
            if belongs:
                # The next pulls are in flight while these messages are used.
                self._ask(walk, range_, pending)
                yield asked, answer
            elif walk.needs_rest:
                self._pause.wait(REST_SECONDS)

    def _ask(self, walk: RangeWalk, range_: Range, pending: deque[tuple[int, Future[Answer]]]) -> None:
        for offset, count in walk.ask():
            pending.append((offset, self._begin(range_.queue, offset, count)))

    def _begin(self, queue: MessageQueue, offset: int, count: int) -> Future[Answer]:
        return self._loop.submit(lambda: Deferred.fromCoroutine(self._pull(queue, offset, count)))

    async def _pull(self, queue: MessageQueue, offset: int, count: int) -> Answer:
        brokers, options = self._brokers, self._options
        queue = brokers.full(queue)
        wanted = subscription(queue.topic, self._request.wanted, 0)
        place = await brokers.places.place_of(queue)
        header = PullMessageRequestHeader(
            consumer_group=options.consumer_group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=count,
            sys_flag=SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription=wanted.sub_string,
            sub_version=0,
            expression_type=wanted.expression_type,
            max_msg_bytes=BYTES_MAX,
            bname=queue.broker_name,
        )
        timeout = options.pull_timeout_ms / 1000
        answer = await brokers.client.asking.ask(
            place.address, RequestCode.PULL_MESSAGE, header, timeout=timeout
        )
        status = STATUS.get(answer.code)  # type: ignore[call-overload]
        if status is None:
            if NO_SQL in (answer.remark or ""):
                raise PipelineError(
                    f"{place.address} does not filter by SQL92; set enablePropertyFilter=true in its "
                    "broker.conf and start it again, or filter by tags"
                )
            raise BrokerError(answer.code, answer.remark, place.address)
        found = decode_header(PullMessageResponseHeader, answer)
        delta = found.offset_delta or 0
        if delta and not is_static(queue):
            raise PipelineError(f"{shown(queue)} was made one of a static topic; begin with a new checkpoint")
        body = bytes(answer.body)
        return Answer(status, found.next_begin_offset, found.min_offset, found.max_offset, body, delta)


def _named(error: ClientError, range_: Range, offset: int) -> ClientError:
    """Return the error with a note of the queue and offset that were read."""
    error.add_note(f"reading {shown(range_.queue)} at offset {offset}")
    return error
