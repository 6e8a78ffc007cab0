"""A broker in memory that answers requests of Kafka."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps, run
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Operations
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from mqgateway.gateway.kafka.codec.plans import decode, encode
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.service import KafkaService
from mqgateway.gateway.kafka.topics import Topics, store_name
from tests.support.gateway.broker.helpers import FakePeer, InlineRunner
from tests.support.gateway.broker.operating import OperatedBroker


class Rights:
    """Admits what is not denied: pairs of a resource's name and an operation."""

    def __init__(self) -> None:
        self.denied: set[tuple[str | None, AclOperation | None]] = set()

    def admit(self, caller: FrontEndCaller, needs: Callable[[], Sequence[Need]]) -> None:
        """See `Admission`."""
        for need in needs():
            if (need.resource.name, need.operation) in self.denied:
                raise NotAdmitted(f"{need.resource} is denied")


def _interrupted(steps: Steps[Any], meanwhile: Callable[[], object]) -> Steps[Any]:
    """Call a function after the first step."""
    is_first = True
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        if is_first:
            meanwhile()
        is_first = False
        yield


class KafkaBroker:
    """A broker with topics `orders` and `my.topic` of four partitions each."""

    def __init__(self, **given: Any) -> None:
        self.operated = OperatedBroker(**given)
        self.broker, self.clock = self.operated.broker, self.operated.memory.clock
        self.rights = Rights()
        runner = InlineRunner(self.operated.memory)
        self.operations = Operations(self.broker, runner, admission=self.rights)
        for name in ("orders", "my.topic"):
            config = TopicConfig(store_name(name), read_queue_nums=4, write_queue_nums=4)
            self.broker.tables.topics.put(config)
        self.topics = Topics(self.operations)
        self.service = KafkaService(self.operations, Node(self.operations, "kafka.example", 9092))
        self.peer = FakePeer("10.0.0.7:5000")
        self.waiting: list[Deferred[Any]] = []
        self.service.tick()

    @property
    def coordinator(self) -> Coordinator:
        """The coordinator of groups."""
        return self.service._coordination.coordinator

    def topic_id(self, name: str) -> bytes:
        """Return the id of a topic."""
        topic = self.topics.find(name)
        assert topic is not None
        return topic.id

    def send(
        self,
        request: Message,
        version: int | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> list[Any]:
        """Send a request as its version has it; return the list that its answer comes to.

        `meanwhile` is called after the first step of a cooperative task.
        """
        api = APIS[request.KEY]
        number = api.latest if version is None else version
        call = KafkaCall(
            RequestHeader(api.key, number, 1, "tester"), self.peer, Address("10.0.0.1", 9092), self.operations
        )
        request = decode(api.request, encode(request, number), number)
        answers: list[Any] = []

        def keep(answer: Message) -> None:
            answers.append(decode(api.response, encode(answer, number), number))

        answer = self.service.handlers[api.key](call, request)
        if isinstance(answer, Generator):
            answer = run(_interrupted(answer, meanwhile))
        if isinstance(answer, Deferred):
            self.waiting.append(answer.addCallback(keep))
        elif answer is not None:
            keep(answer)
        return answers

    def ask(self, request: Message, version: int | None = None) -> Any:
        """Send a request that is answered at once; return its answer."""
        [answer] = self.send(request, version)
        return answer

    def pass_time(self, millis: int, step: int = 100) -> None:
        """Let time pass, with its ticks."""
        for _ in range(0, millis, step):
            self.clock.advance(step)
            self.service.tick()
