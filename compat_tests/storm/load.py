"""Senders and consumers of a storm, with our own client; they report every message to the model."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from compat_tests.storm.model import KINDS, Model, Sent, body_of, number_in
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import (
    Admin,
    ClientError,
    Message,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
    SendStatus,
    TransactionProducer,
    TransactionState,
    admin_groups,
)

TOPICS = {kind: f"storm-{kind}" for kind in KINDS}
WATCHERS = "storm-watchers"
POPPERS = "storm-poppers"
DELAYS = {1: 1.0, 2: 5.0, 3: 10.0}
STORED = (SendStatus.SEND_OK, SendStatus.FLUSH_DISK_TIMEOUT, SendStatus.FLUSH_SLAVE_TIMEOUT)
CLIENT: dict[str, Any] = {
    "send_msg_timeout": 3000,
    "retry_times_when_send_failed": 0,
    "poll_name_server_interval": 10_000,
}
PAUSE_SECONDS = 0.2


class Fates:
    """The transaction listener: outcomes are decided at the start and reported by `execute` or `check`."""

    def __init__(self, model: Model, choose: Random) -> None:
        self._model = model
        self._choose = choose

    def execute(self, message: Message, argument: Sent) -> TransactionState:
        """Return the outcome, or in three of ten calls UNKNOWN, so that the broker checks."""
        if self._choose.random() < 0.3:
            return TransactionState.UNKNOWN
        return _state(argument)

    def check(self, message: ReceivedMessage) -> TransactionState:
        """Return the outcome for a check by the broker; roll back a message that was never sent."""
        number = number_in(message.body, self._model.seed)
        if number is None or number not in self._model.sent:
            self._model.ghosts.append(f"asked about, never sent: {message.body[:80]!r}")
            return TransactionState.ROLLBACK
        return _state(self._model.sent[number])


def _state(sent: Sent) -> TransactionState:
    return TransactionState.ROLLBACK if sent.is_rolled_back else TransactionState.COMMIT


class Load:
    """Threads that send until `quiet` is called, and consumers that watch until `close`."""

    def __init__(self, namesrv: str, model: Model, seed: int, rate: float) -> None:
        self._namesrv = namesrv
        self._model = model
        self._choose = Random(seed)
        self._pace = 1 / rate
        self._is_quiet = threading.Event()
        self._threads: list[threading.Thread] = []
        self._watchers = [self._watcher(WATCHERS, [TOPICS[kind] for kind in KINDS if kind != "pop"])]
        self._watchers.append(self._watcher(POPPERS, [TOPICS["pop"]], client_rebalance=False))

    def prepare(self) -> None:
        """Create the topics, and set one group to POP. The servers are up."""
        with Admin(self._namesrv) as admin:
            for topic in TOPICS.values():
                admin.create_topic(TopicConfig(topic, 4, 4), cluster="storm")
            admin.ask(admin_groups.set_mode(POPPERS, TOPICS["pop"], "POP"), "storm-a")

    def start(self) -> None:
        """Start the producers and the consumers."""
        for watcher in self._watchers:
            watcher.start()
        for name, work in (("plain", self._plain), ("due", self._due), ("transactions", self._transactions)):
            self._threads.append(threading.Thread(target=work, name=name, daemon=True))
            self._threads[-1].start()

    def quiet(self) -> None:
        """Stop sending."""
        self._is_quiet.set()
        for thread in self._threads:
            thread.join(60)

    def close(self) -> None:
        """Close the consumers."""
        for watcher in self._watchers:
            watcher.close()

    def stored(self) -> Iterator[tuple[bytes, float]]:
        """Yield every body in the queues with its store time by the servers' clock. Raises `ClientError`."""
        with PullConsumer("storm-reader", self._namesrv) as reader:
            for topic in TOPICS.values():
                for queue in reader.queues(topic):
                    offset, end = reader.min_offset(queue), reader.max_offset(queue)
                    while offset < end:
                        result = reader.pull(queue, offset)
                        for message in result.messages:
                            yield message.body, message.store_timestamp / 1000
                        offset = result.next_offset

    def _watcher(self, group: str, topics: list[str], **settings: Any) -> PushConsumer:
        def listen(messages: Sequence[ReceivedMessage], _context: object) -> None:
            for message in messages:
                self._model.saw(message.body, time.monotonic())

        watcher = PushConsumer(
            group,
            listen,
            self._namesrv,
            consume_from_where="CONSUME_FROM_FIRST_OFFSET",
            consume_thread_min=2,
            consume_thread_max=2,
            pop_invisible_time=5000,
            **settings,
        )
        for topic in topics:
            watcher.subscribe(topic)
        return watcher

    def _until_quiet(self, step: Callable[[], None]) -> None:
        while not self._is_quiet.is_set():
            try:
                step()
            except ClientError:
                time.sleep(PAUSE_SECONDS)
            time.sleep(self._pace)

    def _send(self, producer: Producer, kind: str, due: float = 0.0, **more: Any) -> None:
        sent = self._model.begin(kind, time.monotonic(), due)
        body = body_of(sent.number, kind, self._model.seed)
        result = producer.send(Message(TOPICS[kind], body, keys=f"k{sent.number}", **more))
        sent.is_acknowledged = result.status in STORED

    def _plain(self) -> None:
        with self._producer() as producer:
            self._until_quiet(lambda: self._send(producer, self._choose.choice(("plain", "plain", "pop"))))

    def _due(self) -> None:
        def step() -> None:
            if self._choose.random() < 0.5:
                level = self._choose.choice(list(DELAYS))
                self._send(producer, "delay", DELAYS[level], delay_level=level)
            else:
                millis = self._choose.randrange(2000, 15_000)
                self._send(producer, "timer", millis / 1000, delay_millis=millis)

        with self._producer() as producer:
            self._until_quiet(step)

    def _transactions(self) -> None:
        listener = Fates(self._model, self._choose)

        def step() -> None:
            sent = self._model.begin("transaction", time.monotonic())
            sent.is_rolled_back = self._choose.random() < 0.3
            body = body_of(sent.number, "transaction", self._model.seed)
            producer.send_in_transaction(Message(TOPICS["transaction"], body, keys=f"k{sent.number}"), sent)
            sent.is_acknowledged = True

        producer = TransactionProducer("storm-transactions", listener, self._namesrv, **CLIENT)
        with producer:
            self._until_quiet(step)

            # The broker checks until it has an outcome, so the producer must stay to answer.
            while not self._is_closed():
                time.sleep(PAUSE_SECONDS)

    def _is_closed(self) -> bool:
        return not any(not sent.is_rolled_back for sent in self._model.missing())

    @contextlib.contextmanager
    def _producer(self) -> Iterator[Producer]:
        with Producer("storm-producers", self._namesrv, **CLIENT) as producer:
            yield producer
