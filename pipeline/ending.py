"""Sends the outcomes of half messages to brokers and waits for the acknowledgements.

The rows of a queue become visible in the order of their offsets. If an order is to be kept, each half message
is ended after the one before it is acknowledged; otherwise many are in flight. Ending a half message twice is
harmless with mqgateway; Apache's broker makes it visible twice. So a half message that may have been
committed before (`again`, and every retry) is first looked up by its id under its own topic. RocketMQ:
`EndTransactionProcessor`, `QueryMessageProcessor`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from itertools import chain
from typing import NamedTuple, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.client.admin_messages import UNIQUE_KEY, at, by_key
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import EndTransactionRequestHeader
from mqgateway.pipeline.brokers import Patience
from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.outgoing import SPARK_TRANSACTION
from mqgateway.pipeline.planning import shown
from mqgateway.pipeline.verdicts import Half, Places, Verdict

log = logging.getLogger(__name__)

T = TypeVar("T")

IN_FLIGHT_MAX = 256
"""Maximum number of outcomes in flight if no order is to be kept."""


class _End(NamedTuple):
    """The outcome of the half messages of one producer group that carry one mark."""

    outcome: int
    group: str
    mark: str


class Ending:
    """Ends half messages for one driver or task, over its client."""

    def __init__(self, options: SinkOptions, client: Client) -> None:
        self._options = options
        self._client = client
        self._loop = Loop.shared()

    def commit(self, verdict: Verdict, *, again: bool) -> None:
        """Make the messages of a verdict visible; `again`: some may be so already. Raises `SinkError`."""
        end = _End(SysFlag.TRANSACTION_COMMIT, verdict.group, verdict.transaction.mark)
        self._end_all(verdict.places, end, again)

    def roll_back(self, places: Iterable[Places], group: str, mark: str) -> None:
        """Remove half messages. After a failure the others may remain too, which is logged."""
        try:
            self._end_all(places, _End(SysFlag.TRANSACTION_ROLLBACK, group, mark), False)
        except SinkError as error:
            log.warning("half messages of %s remain and stay invisible: %s", mark, error)

    def _end_all(self, places: Iterable[Places], end: _End, again: bool) -> None:
        queues: dict[MessageQueue, list[Iterator[Half]]] = {}
        for one in places:
            queues.setdefault(one.queue, []).append(one.halves())
        wide = 1 if self._options.order_column else max(1, IN_FLIGHT_MAX // max(1, len(queues)))
        under: deque[tuple[MessageQueue, Iterator[Half], Half, Future[None]]] = deque()

        def begin(queue: MessageQueue, rest: Iterator[Half]) -> None:
            for half in rest:
                under.append((queue, rest, half, self._submit(queue, half, end, again)))
                return

        for queue, parts in queues.items():
            whole = chain.from_iterable(parts)
            for _ in range(wide):
                begin(queue, whole)
        while under:
            queue, rest, half, outcome = under.popleft()
            self._settle(queue, half, end, outcome)
            begin(queue, rest)

    def _settle(self, queue: MessageQueue, half: Half, end: _End, outcome: Future[None]) -> None:
        """Wait until a broker has acknowledged the outcome of a half message; only commits are retried.
        Raises `SinkError`."""
        patience = Patience(self._options)
        while True:
            try:
                return outcome.result()
            except ClientError as error:
                try:
                    if end.outcome != SysFlag.TRANSACTION_COMMIT:
                        raise
                    patience.wait(error)
                except ClientError:
                    where = f"offset {half.physical_offset} of the log of {queue.broker_name}"
                    raise SinkError(
                        f"transaction {end.mark}: the half message at {where}, for {shown(queue)}, "
                        f"was not ended: {error}"
                    ) from error
                outcome = self._submit(queue, half, end, True)

    def _submit(self, queue: MessageQueue, half: Half, end: _End, again: bool) -> Future[None]:
        return self._loop.submit(lambda: Deferred.fromCoroutine(self._send_end(queue, half, end, again)))

    async def _send_end(self, queue: MessageQueue, half: Half, end: _End, again: bool) -> None:
        topic = with_namespace(self._options.namespace, queue.topic)
        queue = MessageQueue(topic, queue.broker_name, queue.queue_id)
        address = await self._client.master_of(queue)
        is_commit = end.outcome == SysFlag.TRANSACTION_COMMIT
        if again and is_commit and await self._is_visible(address, queue, half, end.mark):
            return
        header = EndTransactionRequestHeader(
            topic=queue.topic,
            producer_group=end.group,
            tran_state_table_offset=half.queue_offset,
            commit_log_offset=half.physical_offset,
            commit_or_rollback=end.outcome,
            msg_id=end.mark,
            bname=queue.broker_name,
        )
        timeout = self._options.send_timeout_ms / 1000
        await self._client.asking.expect(address, RequestCode.END_TRANSACTION, header, timeout=timeout)

    async def _is_visible(self, address: str, queue: MessageQueue, half: Half, mark: str) -> bool:
        """Return True if a half message was committed before. Raises `BrokerError` if its record is gone."""
        stored = await self._ask(address, at(half.physical_offset, queue.topic))
        if stored is None or stored.properties.get(SPARK_TRANSACTION) != mark or not stored.unique_key:
            remark = "there is another message in its place: the broker's store is a new one"
            raise BrokerError(ResponseCode.SYSTEM_ERROR, remark, address)
        found = await self._ask(address, by_key(queue.topic, stored.unique_key, kind=UNIQUE_KEY))
        return any(one.properties.get(SPARK_TRANSACTION) == mark for one in found)

    async def _ask(self, address: str, question: Question[T]) -> T:
        answer = await self._client.asking.ask(
            address, question.code, question.header, question.body, fields=question.fields
        )
        if answer.code != ResponseCode.SUCCESS and answer.code not in question.nothing_codes:
            raise BrokerError(answer.code, answer.remark, address)
        return question.read(answer)
