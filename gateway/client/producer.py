"""Producer core, used directly by Twisted programs and wrapped by the other APIs.

A send looks up the route (that of `TBW102` for a new topic) and takes the next queue in round-robin order. If
that fails, it retries on another broker, within the configured attempts and time. Every method returns a
Deferred; see `gateway.client` for the blocking and asyncio APIs.
RocketMQ: `DefaultMQProducer`, `DefaultMQProducerImpl`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from twisted.internet.defer import Deferred, fail

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.answers import decode_header
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.batches import split_by_size
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.compression import Compression
from mqgateway.gateway.client.errors import (
    BadArgument,
    BrokerError,
    ClientError,
    NoRoute,
    NotRunning,
)
from mqgateway.gateway.client.faults import FaultTable
from mqgateway.gateway.client.message import Message, ReceivedMessage, SendResult
from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from mqgateway.gateway.client.options import ClientOptions, ProducerOptions, made
from mqgateway.gateway.client.publishing import PublishInfo
from mqgateway.gateway.client.routes import MASTER, queues_to_send
from mqgateway.gateway.client.selectors import Selector
from mqgateway.gateway.client.send_arguments import check_send, handle_parts, own_queue
from mqgateway.gateway.client.sending import (
    PreparedSend,
    check_group,
    check_topic,
    give_ids,
    prepare,
    prepare_batch,
)
from mqgateway.gateway.client.settings import ProducerSettings
from mqgateway.gateway.client.trace import MESSAGE_BYTES_MAX, Tracer, group_of_traces
from mqgateway.gateway.client.tries import TURN_MAX, Tries
from mqgateway.gateway.codec.bodies import MessageQueue, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    GetMaxOffsetRequestHeader,
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
)

if TYPE_CHECKING:
    from mqgateway.gateway.client.spans import Spans

log = logging.getLogger(__name__)

ZLIB_LEVEL_MAX = 9
RESERVED_GROUP = "DEFAULT_PRODUCER"


class Producer:
    """Producer group of a client. It uses `client` if given, else creates and owns one."""

    def __init__(
        self,
        group: str,
        environment: Environment,
        *,
        client: Client | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        self.options = made(ProducerOptions, settings)
        if self.options.compress_type is Compression.ZLIB and self.options.compress_level > ZLIB_LEVEL_MAX:
            level = self.options.compress_level
            raise BadArgument(f"compress_level={level}: ZLIB has levels up to {ZLIB_LEVEL_MAX}")
        check_group(arguments.text("group", group), RESERVED_GROUP)
        self.group = with_namespace(self.options.namespace, group)
        self._owns_client = client is None
        self.client = client or Client(self.options, environment)
        self.faults = FaultTable(
            is_grading=self.options.send_latency_enable,
            is_detecting=self.options.start_detector_enable,
            detect_interval=self.options.detect_interval,
        )
        self._infos: dict[str, PublishInfo] = {}
        self._is_running = False
        self._is_closed = False
        self.tracer: Tracer | None = None
        if self.options.enable_trace:
            self.tracer = traced(self.client, self.options, environment, group)
        self._tries = Tries(
            self.client, self.group, self.options, self.faults, self._infos, self._info, self.tracer
        )
        self.spans: Spans | None = None
        if self.options.enable_opentelemetry:
            from mqgateway.gateway.client.spans import Spans

            self.spans = Spans(group, self.client.client_id, self.options)

    # Lifecycle

    @as_deferred
    async def start(self, topics: Iterable[str] = ()) -> None:
        """Start; look up the routes of `topics`. Raises `NotRunning` if it was started before, or closed."""
        if self._is_closed:
            raise NotRunning(f"the producer {self.group} was closed and cannot start again: make a new one")
        if self._is_running:
            raise NotRunning(f"the producer {self.group} was started before")
        self.client.add_producer(self)
        self._is_running = True
        self.client.start()
        if self.options.start_detector_enable:
            seconds = self.options.detect_interval / 1000
            self.client.schedule.every(seconds, seconds, self._detect)
        if self.tracer is not None:
            await self.tracer.start()
        for topic in topics:
            await self._info(with_namespace(self.options.namespace, topic))
        await self.client.heartbeat()

    @as_deferred
    async def close(self) -> None:
        """Unregister from the brokers and stop. Idempotent. Sends in flight fail."""
        if not self._is_running:
            return
        self._is_running, self._is_closed = False, True
        if self.tracer is not None:
            await self.tracer.close()
        await self.client.remove_producer(self)
        if self._owns_client:
            await self.client.close()

    # Sending

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
        tries: int | None = None,
    ) -> Deferred[SendResult]:
        """Store a message; `timeout` in seconds for all attempts together.

        With `queue`, or with a `selector` called with the queues, the message and `argument`, the message
        goes to that queue in a single attempt. `tries` is the number of retries, else the configured one.
        Raises `BadArgument`, `NoRoute`, `SendFailed`, `BrokerError`, `Unreachable`, `TimedOut`, `TooBusy`.
        The message may have been stored despite `SendFailed`, `Unreachable` or `TimedOut`.
        """
        try:
            self._check_running()
            check_send(message, queue, selector, argument)
            if self.spans is None:
                return self._send(message, queue, selector, argument, timeout, tries)
            work = partial(self._send, message, queue, selector, argument, timeout, tries)
            return Deferred.fromCoroutine(self.spans.sent(message, work))
        except Exception as error:
            return fail(error)

    def send_batch(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> Deferred[list[SendResult]]:
        """Store messages of one topic in batches, as many as their size requires, one after the other.

        Raises as `send`; batches before the failed one are stored.
        """
        try:
            self._check_running()
            messages = arguments.each_of_type("messages", messages, Message, "Message")
            if not messages:
                raise BadArgument("messages=[]: pass at least one message")
            check_send(messages[0], queue, None)
            give_ids(messages, self.client.ids, self.client.clock.millis())
            if self.spans is None:
                return self._send_together(messages, queue, timeout)
            work = partial(self._send_together, messages, queue, timeout)
            return Deferred.fromCoroutine(self.spans.sent_together(messages, work))
        except Exception as error:
            return fail(error)

    @as_deferred
    async def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
    ) -> None:
        """Send a message without waiting for an answer, so it is unknown whether it was stored.

        Raises `BadArgument`, `NoRoute`, `NoBroker`.
        """
        self._check_running()
        check_send(message, queue, selector, argument)

        async def work() -> None:
            now = self.client.clock.millis()
            prepared = prepare(message, self.options, self.client.ids, now)
            if queue is not None or selector is not None:
                chosen = await self._chosen(message, prepared, queue, selector, argument)
            else:
                chosen = self._tries.next(await self._info(prepared.topic), prepared.topic)
            address, fields = await self.client.master_of(chosen), self._tries.header(prepared, chosen, now)
            self.client.asking.send_oneway(
                address, prepared.code, None, prepared.body, vip=True, fields=fields
            )

        await (work() if self.spans is None else self.spans.sent(message, work))

    @as_deferred
    async def recall(self, topic: str, handle: str) -> str:
        """Recall a delayed message that was not delivered yet and return its id.

        `handle` is from its `SendResult`. Raises `BadArgument`, `NoRoute`, `BrokerError`, `Unreachable`.
        """
        self._check_running()
        check_topic(arguments.text("topic", topic))
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            raise BadArgument(f"topic={topic!r}: nothing can be recalled from retry topics and dead letters")
        broker_name, message_id = handle_parts(handle)
        shown, topic = topic, with_namespace(self.options.namespace, topic)
        await self._info(topic)
        address = self.client.routes.master(broker_name) or await self.client.any_broker(topic)
        header = RecallMessageRequestHeader(
            producer_group=self.group, topic=topic, recall_handle=handle, bname=broker_name
        )
        timeout = self.options.send_msg_timeout / 1000
        try:
            answer = await self.client.asking.expect(
                address, RequestCode.RECALL_MESSAGE, header, timeout=timeout
            )
        except BrokerError:
            if self.tracer is not None:
                self.tracer.recalled(shown, message_id, {}, is_good=False)
            raise
        if self.tracer is not None:
            self.tracer.recalled(shown, message_id, answer.ext_fields, is_good=True)
        return decode_header(RecallMessageResponseHeader, answer).msg_id

    @as_deferred
    async def request(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        argument: Any = None,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Send and await a reply; `timeout` in seconds for both. Raises `ReplyTimedOut`, and as `send`."""
        self._check_running()
        check_send(message, queue, selector, argument)
        topic = with_namespace(self.options.namespace, message.topic)
        limit = self._limit(timeout)
        if self.client.routes.route(topic) is None:
            # Brokers send replies on connections on which they have received a heartbeat.
            await self._info(topic)
            await self.client.heartbeat()
        reply = self.client.requests.begin(message, limit)
        try:
            await self.send(message, queue=queue, selector=selector, argument=argument, timeout=limit)
        except ClientError:
            self.client.requests.drop(message)
            reply.addErrback(lambda _: None)
            reply.cancel()
            raise
        return await reply

    @as_deferred
    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues of a topic that messages can be sent to. Raises `NoRoute`."""
        self._check_running()
        check_topic(arguments.text("topic", topic))
        info = await self._info(with_namespace(self.options.namespace, topic))
        return [self._shown(queue) for queue in info.queues]

    # Interface of members of a client

    def topics(self) -> list[str]:
        """Return the topics that were sent to."""
        return list(self._infos)

    def route_known(self, topic: str, route: TopicRouteData) -> None:
        """Update the queues of a topic; the round-robin order continues."""
        queues = tuple(queues_to_send(topic, route))
        before = self._infos.get(topic)
        if before is not None and before.queues != queues:
            self._infos[topic] = PublishInfo(queues, before.turn)

    def check_transaction(
        self, address: str, message: ReceivedMessage, header: CheckTransactionStateRequestHeader
    ) -> None:
        """Log the check, because a producer without transactions cannot answer it."""
        log.warning("%s asks for a transaction of %s, which has no listener", address, self.group)

    # Processing of a send

    def _send(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: Selector | None,
        argument: Any,
        timeout: float | None,
        tries: int | None,
    ) -> Deferred[SendResult]:
        prepared = prepare(message, self.options, self.client.ids, self.client.clock.millis())
        limit = self._limit(timeout)
        if queue is None and selector is None:
            return self._tries.send(prepared, limit, tries)
        return self._send_chosen(message, prepared, limit, queue, selector, argument)

    def _send_together(
        self, messages: Sequence[Message], queue: MessageQueue | None, timeout: float | None
    ) -> Deferred[list[SendResult]]:
        parts = split_by_size(messages, self.options.max_message_size)
        return self._send_part(next(parts), parts, [], queue, timeout)

    def _send_part(
        self,
        part: tuple[list[Message], bytes],
        following: Iterator[tuple[list[Message], bytes]],
        results: list[SendResult],
        queue: MessageQueue | None,
        timeout: float | None,
    ) -> Deferred[list[SendResult]]:
        messages, body = part
        prepared = prepare_batch(messages, body, self.options)
        chosen = None if queue is None else own_queue(queue, messages[0], prepared, self.options.namespace)
        sent = self._tries.send(prepared, self._limit(timeout), queue=chosen)
        return sent.addCallback(self._part_sent, following, results, queue, timeout)

    def _part_sent(
        self,
        result: SendResult,
        following: Iterator[tuple[list[Message], bytes]],
        results: list[SendResult],
        queue: MessageQueue | None,
        timeout: float | None,
    ) -> list[SendResult] | Deferred[list[SendResult]]:
        results.append(result)
        part = next(following, None)
        return results if part is None else self._send_part(part, following, results, queue, timeout)

    @as_deferred
    async def _send_chosen(
        self,
        message: Message,
        prepared: PreparedSend,
        timeout: float,
        queue: MessageQueue | None,
        selector: Selector | None,
        argument: Any,
    ) -> SendResult:
        chosen = await self._chosen(message, prepared, queue, selector, argument)
        return await self._tries.send(prepared, timeout, queue=chosen)

    async def _info(self, topic: str) -> PublishInfo:
        """Return the queues of a topic, those it will have if it is new. Raises `NoRoute`."""
        info = self._infos.get(topic)
        if info is not None and info.queues:
            return info
        if info is None:
            self._infos[topic] = PublishInfo((), self.client.random.randrange(TURN_MAX))
        try:
            known = await self.client.update_route(topic)
            if not known:
                new_topic = (self.options.create_topic_key, self.options.default_topic_queue_nums)
                known = await self.client.update_route(topic, new_topic)
        except ClientError as error:
            raise NoRoute(topic, str(error)) from error
        info = self._infos.get(topic)
        if info is None or not info.queues:
            self._infos.pop(topic, None)
            raise NoRoute(topic, "it has no queue that can be written" if known else "")
        return info

    async def _chosen(
        self,
        message: Message,
        prepared: PreparedSend,
        queue: MessageQueue | None,
        selector: Selector | None,
        argument: Any,
    ) -> MessageQueue:
        if queue is None:
            assert selector is not None
            info = await self._info(prepared.topic)
            queue = selector([self._shown(one) for one in info.queues], message, argument)
        return own_queue(queue, message, prepared, self.options.namespace)

    def _limit(self, timeout: float | None) -> float:
        return (
            self.options.send_msg_timeout / 1000 if timeout is None else arguments.seconds("timeout", timeout)
        )

    def _shown(self, queue: MessageQueue) -> MessageQueue:
        topic = without_namespace(self.options.namespace, queue.topic)
        return MessageQueue(topic, queue.broker_name, queue.queue_id)

    def _check_running(self) -> None:
        if not self._is_running:
            remedy = "it was closed: make a new one" if self._is_closed else "call start(), or use `with`"
            raise NotRunning(f"the producer {self.group} is not running: {remedy}")

    def _detect(self) -> None:
        """Probe failed brokers. RocketMQ: `MQClientInstance.detect` through the fault table."""
        for name in self.faults.due(self.client.steady.now()):
            address = self.client.routes.master(name)
            if address is None:
                self.faults.forget(name)
            else:
                self.client.spawn(self._look_at(name, address))

    async def _look_at(self, broker: str, address: str) -> None:
        topic = next((one for one, info in self._infos.items() if _has_broker(info, broker)), "")
        header = GetMaxOffsetRequestHeader(topic=topic, queue_id=MASTER, bname=broker)
        timeout = self.options.detect_timeout / 1000
        try:
            await self.client.asking.ask(address, RequestCode.GET_MAX_OFFSET, header, timeout=timeout)
        except ClientError as error:
            log.info("broker %s cannot be reached yet: %s", broker, error)
        else:
            self.faults.reached(broker)


def _has_broker(info: PublishInfo, broker: str) -> bool:
    return any(queue.broker_name == broker for queue in info.queues)


def traced(client: Client, options: ClientOptions, environment: Environment, group: str) -> Tracer:
    """Return the tracer of a producer or consumer group, which sends with a producer of its own."""
    name = group_of_traces(group)
    return Tracer(
        client,
        options,
        group,
        Producer(name, environment, client=client, max_message_size=MESSAGE_BYTES_MAX * 2),
    )
