"""Producers and consumers of a simulated cluster, with the acknowledgements they got and the messages they
read.

They look up the master at name servers, as clients do. Sometimes they try another broker, which has to refuse
sends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.codec.bodies import TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    GetRouteInfoRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.exchange import RemotingError
from tests.sim.machines import SET, TOPIC, bodies_of
from tests.sim.world import Process, World
from tests.support.gateway.broker.helpers import pull_header, send_header

SECONDS = 3.0
STRAY = 0.1
"""Probability that a turn uses a random broker."""


class Client:
    """Common part of producers and consumers: a machine without faults, and the lookup of the master."""

    def __init__(
        self, world: World, number: int, name_servers: Sequence[str], brokers: Sequence[str], every: float
    ) -> None:
        self.world, self.every = world, every
        self._name_servers, self._brokers = name_servers, brokers
        self.process = Process(world, f"192.168.1.{number}")
        self._remoting = RemotingClient(self.process, RemotingOptions(), clock=self.process)  # type: ignore[arg-type]
        self._master = ""
        self.is_over = False
        self.process.callLater(world.random.uniform(0, every), self._begin)

    def _begin(self) -> None:
        Deferred.fromCoroutine(self._turn()).addErrback(self._failed).addBoth(self._again)

    def _failed(self, failure: Any) -> None:
        failure.trap(RemotingError)
        self._master = ""

    def _again(self, outcome: Any) -> Any:
        if not self.is_over:
            self.process.callLater(self.world.random.expovariate(1 / self.every), self._begin)
        return outcome

    async def _turn(self) -> None:
        raise NotImplementedError

    async def _ask(self, address: str, code: RequestCode, header: Any, body: bytes = b"") -> RemotingCommand:
        return await self._remoting.request(address, RemotingCommand.request(code, header, body), SECONDS)

    async def _choose(self) -> str:
        """Return the master, if a name server knows one, else a random broker; sometimes a random one
        anyway."""
        random = self.world.random
        if random.random() < STRAY:
            return random.choice(self._brokers)
        if not self._master:
            address = random.choice(self._name_servers)
            header = GetRouteInfoRequestHeader(topic=TOPIC)
            answer = await self._ask(address, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
            if answer.code == 0:
                found = TopicRouteData.decode(answer.body).broker_datas
                self._master = next(
                    (one.broker_addrs.get(0, "") for one in found if one.broker_name == SET), ""
                )
        return self._master or random.choice(self._brokers)


class Producer(Client):
    """Sends messages, each once; `acknowledged` has the offsets of the acknowledgements."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.sent = 0
        self.acknowledged: dict[bytes, int] = {}

    async def _turn(self) -> None:
        address = await self._choose()
        self.sent += 1
        body = b"%s-%d" % (self.process.address.encode(), self.sent)
        answer = await self._ask(address, RequestCode.SEND_MESSAGE_V2, send_header(TOPIC, queue_id=0), body)
        if answer.code == 0:
            self.acknowledged[body] = int(answer.ext_fields["queueOffset"])
        else:
            self._master = ""


class Consumer(Client):
    """Reads the queue from its beginning, commits, and sometimes resumes from its committed offset.

    `read` has the message of each offset; `on_changed` is called if an offset had another message before.
    """

    def __init__(self, *given: Any, on_changed: Callable[[int, bytes, bytes], None]) -> None:
        super().__init__(*given)
        self.group = "G" + self.process.address.rpartition(".")[2]
        self.offset = 0
        self.read: dict[int, bytes] = {}
        self._on_changed = on_changed

    async def _turn(self) -> None:
        address = await self._choose()
        random = self.world.random
        if random.random() < 0.05:
            await self._start_again(address)
        answer = await self._ask(
            address,
            RequestCode.PULL_MESSAGE,
            pull_header(TOPIC, group=self.group, offset=self.offset, sys_flag=4, subscription="*"),
        )
        fields = answer.ext_fields
        if answer.code == 0:
            for number, body in enumerate(bodies_of(answer.body)):
                self._take(self.offset + number, body)
            self.offset = int(fields["nextBeginOffset"])
        elif "nextBeginOffset" in fields:
            self.offset = int(fields["nextBeginOffset"])
        else:
            self._master = ""
            return
        if random.random() < 0.5:
            await self._commit(address)

    def _take(self, offset: int, body: bytes) -> None:
        before = self.read.setdefault(offset, body)
        if before != body:
            self._on_changed(offset, before, body)

    async def _commit(self, address: str) -> None:
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self.group, topic=TOPIC, queue_id=0, commit_offset=self.offset
        )
        answer = await self._ask(address, RequestCode.UPDATE_CONSUMER_OFFSET, header)
        if answer.code != 0:
            self._master = ""

    async def _start_again(self, address: str) -> None:
        header = QueryConsumerOffsetRequestHeader(consumer_group=self.group, topic=TOPIC, queue_id=0)
        answer = await self._ask(address, RequestCode.QUERY_CONSUMER_OFFSET, header)
        self.offset = int(answer.ext_fields["offset"]) if answer.code == 0 else 0
