"""Attempts of a send: on one broker after another, until the message is stored or attempts or time run out.

Every message passes through here, so it uses callbacks instead of coroutines.
RocketMQ: `DefaultMQProducerImpl.sendDefaultImpl`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.client.asking import as_client_error
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import (
    BrokerError,
    ClientError,
    NoRoute,
    SendFailed,
    TimedOut,
    TooBusy,
    Unreachable,
)
from mqgateway.gateway.client.faults import FaultTable
from mqgateway.gateway.client.message import SendResult, SendStatus
from mqgateway.gateway.client.options import ProducerOptions
from mqgateway.gateway.client.publishing import PublishInfo
from mqgateway.gateway.client.sending import RETRIABLE, PreparedSend, common_header
from mqgateway.gateway.client.trace import Tracer
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.command import RemotingCommand

log = logging.getLogger(__name__)

TURN_MAX: Final = 1 << 31
_OK: Final = SendStatus.SEND_OK

LookUp = Callable[[str], Coroutine[Any, Any, PublishInfo]]


class Tries:
    """State shared by all sends of a producer.

    `infos` are the known queues by topic. `look_up` finds those of other topics, or raises `NoRoute`.
    """

    def __init__(
        self,
        client: Client,
        group: str,
        options: ProducerOptions,
        faults: FaultTable,
        infos: dict[str, PublishInfo],
        look_up: LookUp,
        tracer: Tracer | None,
    ) -> None:
        self.client = client
        self.options = options
        self.faults = faults
        self.infos = infos
        self.look_up = look_up
        self.tracer = tracer
        self.in_flight = 0
        self.is_timed = options.send_latency_enable or tracer is not None
        """True if send latencies are needed."""
        self._group = group
        self._headers: dict[str, dict[str, str]] = {}  # by topic: fields shared by all sends

    def send(
        self,
        prepared: PreparedSend,
        timeout: float,
        tries: int | None = None,
        queue: MessageQueue | None = None,
    ) -> Deferred[SendResult]:
        """Start a send; `timeout` in seconds for all attempts. Raises `TooBusy`.

        `tries` is the number of retries after the first attempt, else the configured one. A send to a `queue`
        has one attempt.
        """
        if self.in_flight >= self.options.max_sends_in_flight:
            raise TooBusy(f"{self.in_flight} sends are in flight")
        self.in_flight += 1
        more = self.options.retry_times_when_send_failed if tries is None else tries
        return _Send(self, prepared, timeout, 1 + more, queue).begin()

    def header(self, prepared: PreparedSend, queue: MessageQueue, now: int) -> dict[str, str]:
        """Return the header fields of a send to a queue; `now` in ms since the epoch."""
        common = self._headers.get(prepared.topic)
        if common is None:
            common = common_header(self._group, prepared.topic, self.options)
            self._headers[prepared.topic] = common
        return prepared.header(common, queue, now)

    def next(self, info: PublishInfo, topic: str, last_broker: str | None = None) -> MessageQueue:
        """Return the next queue; `last_broker` has just failed. Raises `NoRoute`."""
        restart = None if last_broker is None else self._elsewhere
        queue = self.faults.choose(info, last_broker, self.now(), restart)
        if queue is None:
            raise NoRoute(topic, "it has no queue that can be written")
        return queue

    def now(self) -> int:
        """Return the time by which latencies are measured, in ms; 0 if they are not needed."""
        return self.client.steady.now() if self.is_timed else 0

    def _elsewhere(self) -> int:
        return self.client.random.randrange(TURN_MAX)


class _Send:
    """Send in flight."""

    __slots__ = (
        "_address",
        "_began",
        "_brokers",
        "_deadline",
        "_failure",
        "_fixed",
        "_info",
        "_left",
        "_now",
        "_outcome",
        "_prepared",
        "_queue",
        "_timeout",
        "_tries",
        "_weak",
    )

    _address: str
    _began: int
    _now: int
    _queue: MessageQueue

    def __init__(
        self, tries: Tries, prepared: PreparedSend, timeout: float, left: int, queue: MessageQueue | None
    ) -> None:
        self._tries = tries
        self._prepared = prepared
        self._timeout = timeout
        self._left = left
        self._fixed = queue
        self._deadline = 0.0
        self._info: PublishInfo | None = None
        self._brokers: list[str] = []
        self._weak: SendResult | None = None
        self._failure: ClientError | None = None
        self._outcome: Deferred[SendResult] | None = Deferred(self._cancelled)

    def begin(self) -> Deferred[SendResult]:
        """Start the first attempt, once the topic's queues are known."""
        fixed, tries, outcome = self._fixed, self._tries, self._outcome
        assert outcome is not None
        if fixed is not None:
            self._ask(fixed)
            return outcome
        timeout = self._timeout
        self._deadline = tries.client.schedule.seconds() + timeout
        info = tries.infos.get(self._prepared.topic)
        if info is not None and info.queues:
            self._info = info
            self._try(timeout)
        else:
            found = Deferred.fromCoroutine(tries.look_up(self._prepared.topic))
            found.addCallbacks(self._known, self._unknown)
        return outcome

    def _known(self, info: PublishInfo) -> None:
        self._info = info
        self._try(self._rest())

    def _unknown(self, failure: Failure) -> None:
        self._fail(failure.value or ClientError("it failed"))

    def _rest(self) -> float:
        """Return the remaining time in seconds."""
        return self._deadline - self._tries.client.schedule.seconds()

    def _try(self, rest: float) -> None:
        """Start the next attempt, or fail when no attempt or no time is left."""
        tries, brokers, info = self._tries, self._brokers, self._info
        if self._outcome is None:
            return  # cancelled while the queues were looked up
        assert info is not None
        if not self._left or rest <= 0:
            self._give_up()
            return
        self._left -= 1
        try:
            queue = tries.next(info, self._prepared.topic, brokers[-1] if brokers else None)
        except NoRoute as error:
            self._fail(error)
            return
        brokers.append(queue.broker_name)
        most = tries.options.send_msg_max_timeout_per_request
        self._timeout = min(rest, most / 1000) if most > -1 and self._left else rest
        self._ask(queue)

    def _ask(self, queue: MessageQueue) -> None:
        client = self._tries.client
        self._queue = queue
        address = client.routes.master(queue.broker_name)
        if address is not None:
            self._ask_at(address)
        else:
            found = Deferred.fromCoroutine(client.master_of(queue))
            found.addCallbacks(self._ask_at, self._no_address)

    def _no_address(self, failure: Failure) -> None:
        self._failed(failure.value or ClientError("it failed"))

    def _ask_at(self, address: str) -> None:
        tries, prepared, client = self._tries, self._prepared, self._tries.client
        if self._outcome is None:
            return  # cancelled while the broker was looked up
        self._address = address
        self._now, self._began = client.clock.millis(), tries.now()
        fields = tries.header(prepared, self._queue, self._now)
        client.asking.begin(
            address, prepared.code, fields, prepared.body, self._timeout, self._answered, vip=True
        )

    def _answered(self, answer: RemotingCommand | Exception) -> None:
        if self._outcome is None:
            return
        try:
            if isinstance(answer, Exception):
                self._graded(as_client_error(self._address, answer))
            else:
                self._take(answer)
        except Exception as error:
            self._fail(error)

    def _take(self, answer: RemotingCommand) -> None:
        """Handle a broker's answer and grade the broker by its latency."""
        tries, queue = self._tries, self._queue
        try:
            result = self._prepared.result(answer, queue, self._address, tries.options.namespace)
        except ClientError as error:
            self._graded(error)
            return
        later = tries.now()
        tries.faults.succeeded(queue.broker_name, later - self._began, later)
        if tries.tracer is not None:
            origin, took = self._prepared.origin, later - self._began
            tries.tracer.sent(origin, result, answer.ext_fields, self._address, self._now, took)
        is_enough = result.status is _OK or not tries.options.retry_another_broker_when_not_store_ok
        if is_enough or self._fixed is not None:
            self._succeed(result)
        else:
            self._weak = result
            self._again()

    def _graded(self, error: Exception) -> None:
        faults, now = self._tries.faults, self._tries.now()
        if isinstance(error, BrokerError):
            faults.refused(self._queue.broker_name, now)
        elif isinstance(error, Unreachable | TooBusy):
            faults.failed(self._queue.broker_name, now)
        self._failed(error)

    def _failed(self, error: BaseException) -> None:
        """Retry if that may help, else fail."""
        is_final = isinstance(error, BrokerError) and error.code not in RETRIABLE
        if self._fixed is not None or is_final or not isinstance(error, ClientError):
            self._fail(error)
        else:
            self._failure = error
            self._again()

    def _again(self) -> None:
        topic = self._prepared.topic
        self._info = self._tries.infos.get(topic, self._info)
        log.info("%s: try %d of a send failed: %s", topic, len(self._brokers), self._failure)
        self._try(self._rest())

    def _give_up(self) -> None:
        topic, failure = self._prepared.topic, self._failure
        if self._weak is not None:
            self._succeed(self._weak)
        elif failure is None:
            self._fail(TimedOut(f"{topic}: no time was left to send"))
        else:
            error = SendFailed(topic, self._brokers, failure)
            error.__cause__ = failure
            self._fail(error)

    def _succeed(self, result: SendResult) -> None:
        outcome = self._end()
        if outcome is not None:
            outcome.callback(result)

    def _fail(self, error: BaseException) -> None:
        outcome = self._end()
        if outcome is not None:
            outcome.errback(error)

    def _cancelled(self, _: object) -> None:
        self._end()

    def _end(self) -> Deferred[SendResult] | None:
        """End the send, once, and return its Deferred.

        The reference to the Deferred is dropped, because it refers back to this object. The cycle would be
        garbage that only the collector frees.
        """
        outcome, self._outcome = self._outcome, None
        if outcome is not None:
            self._tries.in_flight -= 1
        return outcome
