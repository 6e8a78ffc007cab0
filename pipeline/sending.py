"""Sends the rows of a task: in batches, several in flight, each acknowledged before the task is done.

Without an order each batch goes to the next queue in turn, on another broker if one fails. With an order the
queue is chosen by the hash of the row's value, as in RocketMQ's `SelectMessageQueueByHash`, and a queue has
one batch in flight. A batch that was not acknowledged is sent again: at least once.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import java_hash
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.batches import element_size
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import Message, SendResult, SendStatus
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.brokers import Patience, client_settings, new_producer_client
from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.outgoing import SPARK_ID, as_message, as_millis, goes_alone
from mqgateway.pipeline.static_topics import static_queues
from mqgateway.pipeline.verdicts import Places

log = logging.getLogger(__name__)

_INT_MAX = 2**31 - 1


@dataclass(slots=True)
class _Waiting:
    """Messages collected to be sent together."""

    messages: list[Message] = field(default_factory=list)
    size: int = 0


@dataclass(slots=True)
class Under:
    """A batch in flight."""

    messages: list[Message]
    queue: MessageQueue | None
    outcome: Future[Any]


class TaskSender:
    """Sends the rows of one task. `key` begins the property that identifies repeats; None for no such
    property."""

    def __init__(self, options: SinkOptions, tls: TlsOptions, key: str | None = None) -> None:
        self._options = options
        self._key = key
        self._loop = Loop.shared()
        self._client = new_producer_client(options, tls)
        settings = client_settings(options) | {"send_msg_timeout": options.send_timeout_ms}
        self._producer = self._loop.do(lambda: self._new_producer(settings))
        self._loop.call(self._producer.start)
        self._queues: dict[str, list[MessageQueue]] = {}
        self._topics: set[str] = set()
        self._waiting: dict[Hashable, _Waiting] = {}
        self._under: deque[Under] = deque()
        self._clock = SystemClock()
        self._pause = threading.Event()
        self.count = 0

    def close(self) -> None:
        """Close the producer and the connections."""
        self._loop.call(self._producer.close)
        self._loop.call(self._client.close)

    def send(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Send rows, each batch when it is full. Raises `SinkError`."""
        options = self._options
        for row in rows:
            message = as_message(row, options.topic)
            if message.topic not in self._topics:
                self._look_at(message.topic)
            if options.pace_column:
                self._keep_pace(row[options.pace_column])
            if self._key is not None:
                message.put(SPARK_ID, f"{self._key}/{self.count}")
            self.count += 1
            queue = self._queue_for(message, row[options.order_column]) if options.order_column else None
            target: Hashable = queue or message.topic
            if goes_alone(message):
                self._flush(target, queue)
                self._begin([message], queue)
                continue
            waiting = self._waiting.setdefault(target, _Waiting())
            waiting.messages.append(message)
            waiting.size += element_size(message)
            if len(waiting.messages) >= options.send_batch_size or waiting.size >= options.send_batch_bytes:
                self._flush(target, queue)

    def finish(self) -> int:
        """Send the remaining rows, wait for all acknowledgements, and return the number of rows."""
        for target in list(self._waiting):
            self._flush(target, target if isinstance(target, MessageQueue) else None)
        while self._under:
            self._settle(self._under.popleft())
        return self.count

    def places(self) -> tuple[Places, ...]:
        """Return the positions of half messages: there are none."""
        return ()

    def take_back(self) -> None:
        """Do nothing for a failed task: sent messages stay sent."""

    def _new_producer(self, settings: dict[str, Any]) -> Producer:
        return Producer(self._options.producer_group, self._loop, client=self._client, **settings)

    def _stored(self, results: list[SendResult]) -> None:
        """Do nothing with acknowledged messages; `HalfSender` records them."""

    def _keep_pace(self, when: datetime | None) -> None:
        """Wait until a row of that time is due; rows before it are sent first."""
        if when is None:
            return
        options = self._options
        due = options.pace_at + (as_millis(when) - options.pace_from) / options.pace_speed
        rest = due - self._clock.millis()
        if rest > 0:
            self.finish()
            self._pause.wait(rest / 1000)

    def _look_at(self, topic: str) -> None:
        """Refuse a static topic: its queues are not the brokers', to which the messages would be sent."""
        full = with_namespace(self._options.namespace, topic)
        try:
            self._loop.call(lambda: Deferred.fromCoroutine(self._client.update_route(full)))
        except ClientError as error:
            log.info("the route of %s is not known; its first send will report it: %s", topic, error)
        route = self._client.routes.route(full)
        if route is not None and static_queues(full, route):
            raise SinkError(f"{topic} is a static topic, which the sink cannot write to; use another topic")
        self._topics.add(topic)

    def _queue_for(self, message: Message, value: Any) -> MessageQueue:
        queues = self._queues.get(message.topic)
        if queues is None:
            try:
                queues = self._loop.call(self._producer.queues, message.topic)
            except ClientError as error:
                raise SinkError(f"{message.topic}: {error}") from error
            self._queues[message.topic] = queues
        number = java_hash(str(value))
        return queues[(abs(number) & _INT_MAX) % len(queues)]

    def _flush(self, target: Hashable, queue: MessageQueue | None) -> None:
        waiting = self._waiting.pop(target, None)
        if waiting is not None:
            self._begin(waiting.messages, queue)

    def _begin(self, messages: list[Message], queue: MessageQueue | None) -> None:
        while len(self._under) >= self._options.sends_in_flight:
            self._settle(self._under.popleft())
        if queue is not None:
            for before in [one for one in self._under if one.queue == queue]:
                self._under.remove(before)
                self._settle(before)
        self._under.append(Under(messages, queue, self._submit(messages, queue)))

    def _submit(self, messages: list[Message], queue: MessageQueue | None) -> Future[Any]:
        if len(messages) == 1:
            return self._loop.submit(self._producer.send, messages[0], queue=queue)
        return self._loop.submit(self._producer.send_batch, messages, queue=queue)

    def _settle(self, under: Under) -> None:
        """Wait for an acknowledgement; retry after a transient error."""
        patience = Patience(self._options)
        outcome = under.outcome
        while True:
            try:
                result = outcome.result()
                results = result if isinstance(result, list) else [result]
                _check_stored(results)
                self._stored(results)
                return
            except ClientError as error:
                self._wait(patience, error, under)
                outcome = self._submit(under.messages, under.queue)

    def _wait(self, patience: Patience, error: ClientError, under: Under) -> None:
        cause = error.__cause__ if isinstance(error.__cause__, ClientError) else error
        try:
            patience.wait(cause)
        except ClientError:
            topic, queue = under.messages[0].topic, under.queue
            place = f" queue {queue.queue_id} on {queue.broker_name}" if queue else ""
            raise SinkError(
                f"{len(under.messages)} rows for topic {topic}{place} were not stored: {error}"
            ) from error


def _check_stored(results: list[SendResult]) -> None:
    """Raise `SinkError` for a message that is stored, but less durable than configured, as a slave or the
    disk was late: it may be lost with the broker."""
    for result in results:
        if result.status is not SendStatus.SEND_OK:
            queue = result.queue
            raise SinkError(
                f"topic {queue.topic} queue {queue.queue_id} on {queue.broker_name}: stored, but "
                f"{result.status} reports that it is less durable than the broker is configured for"
            )
