"""A server of ours in a process of its own, and what the tests put into it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compat_tests.support.processes import free_ports
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, Server
from mqgateway.gateway.client import Message, MessageQueue, Producer, PullConsumer
from mqgateway.gateway.codec.codes import RequestCode

SMALL_FILES = {"mappedFileSizeCommitLog": "67108864"}


class Broker:
    """The server, under the names that tests need."""

    def __init__(self, work: Path, kind: str = "ours") -> None:
        port = free_ports()
        self.kafka = f"{HOST}:{port}"
        """Address of the listener for clients of Kafka."""
        ours = {**SMALL_FILES, "kafkaPort": str(port)}
        self.server = Server(kind, work, ours if kind == "ours" else {})
        self.server.start()
        self._numbers = iter(range(1, 10_000))

    @property
    def namesrv(self) -> str:
        """The option `nameServer`."""
        return self.server.namesrv_address

    def topic(self, what: str, queues: int = 4) -> str:
        """A new topic."""
        name = f"{what}-{next(self._numbers)}"
        self.resize(name, queues)
        return name

    def resize(self, topic: str, queues: int) -> None:
        """Give a topic so many queues."""
        with RawConnection(self.server.broker_address) as connection:
            answer = connection.ask(
                RequestCode.UPDATE_AND_CREATE_TOPIC,
                {
                    "topic": topic,
                    "defaultTopic": "TBW102",
                    "readQueueNums": str(queues),
                    "writeQueueNums": str(queues),
                    "perm": "6",
                    "topicFilterType": "SINGLE_TAG",
                    "topicSysFlag": "0",
                    "order": "false",
                },
            )
        assert answer is not None and answer.code == 0, answer

    def send(self, topic: str, bodies: Sequence[str], *, queue: int | None = None, **fields: str) -> None:
        """Store messages: in one queue, or in turn in all of them."""
        with Producer("fillers", self.namesrv) as producer:
            queues = sorted(producer.queues(topic))
            if queue is not None:
                queues = [one for one in queues if one.queue_id == queue]
            for number, where in enumerate(queues):
                part = [Message(topic, body, **fields) for body in bodies[number :: len(queues)]]
                if part:
                    producer.send_batch(part, queue=where)

    def bodies(self, topic: str) -> list[tuple[int, str]]:
        """Queue and body of all messages, in order."""
        found = []
        with PullConsumer("lookers", self.namesrv) as consumer:
            for queue in consumer.queues(topic):
                found += [(queue.queue_id, one.body.decode()) for one in self.messages(consumer, queue)]
        return found

    def messages(self, consumer: PullConsumer, queue: MessageQueue) -> list:
        """All messages of a queue."""
        found, at = [], consumer.min_offset(queue)
        while at < consumer.max_offset(queue):
            pulled = consumer.pull(queue, at)
            found += pulled.messages
            at = pulled.next_offset
        return found
