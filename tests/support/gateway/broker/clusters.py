"""Several brokers in memory with a name server, and a static topic whose queues move between them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.remoting.exchange import PeerGone
from tests.support.gateway.broker.helpers import Answer, FakePeer, MemoryBroker
from tests.support.topics import topic_header

TOPIC = "static"
NAMESRV = "ns:9876"
BLOCK = 10_000
"""Distance between the starts of a queue's mapping items."""


class Member(MemoryBroker):
    """One broker, which sends requests to the others."""

    def __init__(
        self, name: str, cluster: Cluster, store_options: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self._cluster = cluster
        super().__init__(
            clock=cluster.clock,
            options={"broker_name": name, "namesrv_addr": NAMESRV} | options,
            store_options=store_options,
        )

    def ask_outside(
        self, address: str, command: RemotingCommand, timeout: float
    ) -> Deferred[RemotingCommand]:
        """Send the request through the cluster."""
        return self._cluster.ask(address, command)


class Cluster:
    """Brokers by name; those in `down` do not answer. `asked` records requests between brokers."""

    def __init__(self, *names: str, **options: Any) -> None:
        self.clock = ManualClock()
        self.brokers = {name: Member(name, self, **options) for name in names}
        self.down: set[str] = set()
        self.asked: list[tuple[str, int]] = []
        self.mappings: dict[str, TopicQueueMappingDetail] = {}
        for member in self.brokers.values():
            member.subscribe("G", TOPIC)

    def ask(self, address: str, command: RemotingCommand) -> Deferred[RemotingCommand]:
        """Return a server's answer; a broker's address is its name."""
        self.asked.append((address, command.code))
        if address in self.down:
            return fail(PeerGone("refused"))
        if address == NAMESRV:
            return succeed(RemotingCommand.response(0, body=self._body_for(command.code)))
        member = self.brokers[address]
        read = decode_command(encode_command(command)[4:])
        frame = member.dispatcher.dispatch(read, FakePeer())
        waiting = frame if isinstance(frame, Deferred) else succeed(frame)
        return waiting.addCallback(lambda written: decode_command((written or b"")[4:]))

    def _body_for(self, code: int) -> bytes:
        if code == RequestCode.GET_BROKER_CLUSTER_INFO:
            table = {name: BrokerData("c", name, {0: name}) for name in self.brokers}
            return ClusterInfo(table).encode()
        infos = {
            name: mapping.info()
            for name, member in self.brokers.items()
            if (mapping := member.broker.tables.mappings.table.get(TOPIC)) is not None
        }
        return TopicRouteData(topic_queue_mapping_by_broker=infos).encode()

    def __getitem__(self, name: str) -> Member:
        return self.brokers[name]

    def create(self, *leaders: str) -> None:
        """Create a static topic with each queue's first leader."""
        self.mappings = {name: TopicQueueMappingDetail(TOPIC, name, len(leaders), 1) for name in self.brokers}
        for number, name in enumerate(leaders):
            queues = self.mappings[name].queues
            queues[number] = [MappingItem(0, len(queues), name, 0)]
        self._notify()

    def move(self, number: int, to: str, *, begin: bool = True, end: bool = False) -> None:
        """Move a queue to another broker, in the steps of RocketMQ's tools; `begin` is the last one."""
        old = self.items_of(number)
        items = [*old, MappingItem(old[-1].gen + 1, self._next_queue(to), to, -1)]
        self._set(number, items, old[-1].broker_name, to)
        if begin:
            self.begin(number, end=end)

    def begin(self, number: int, *, end: bool = False) -> None:
        """Set the start of a queue's last mapping item.

        The tools do not set the end of the item before; with `end` that is set.
        """
        *older, last, new = self.items_of(number)
        most = self[last.broker_name].broker.store.max_offset(TOPIC, last.queue_id)
        start = (last.logical(most) // BLOCK + 1) * BLOCK
        last, new = replace(last, end_offset=most if end else -1), replace(new, logic_offset=start)
        self._set(number, [*older, last, new], last.broker_name, new.broker_name)

    def items_of(self, number: int) -> list[MappingItem]:
        """Return the mapping items of a queue, from its leader."""
        return next(one.queues[number] for one in self.mappings.values() if one.leads(number))

    def _next_queue(self, name: str) -> int:
        used = [
            item.queue_id
            for mapping in self.mappings.values()
            for items in mapping.queues.values()
            for item in items
            if item.broker_name == name
        ]
        return max(used, default=-1) + 1

    def _set(self, number: int, items: list[MappingItem], *names: str) -> None:
        for name, mapping in self.mappings.items():
            queues = dict(mapping.queues)
            if name in names:
                queues[number] = items
            self.mappings[name] = replace(mapping, epoch=mapping.epoch + 1, queues=queues)
        self._notify()

    def _notify(self) -> None:
        for name, mapping in self.mappings.items():
            assert self.update(name, mapping.to_json()).code == ResponseCode.SUCCESS

    def update(self, name: str, mapping: Any, *, topic: str = TOPIC, **fields: Any) -> Answer:
        """513 UPDATE_AND_CREATE_STATIC_TOPIC."""
        body = mapping if isinstance(mapping, bytes) else json.dumps(mapping).encode()
        header = topic_header(topic, 8, **fields)
        return self[name].ask(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, header, body)

    def fill(self, name: str, *bodies: bytes, queue_id: int = 0) -> list[int]:
        """Send to a queue, through its leader; return the offsets in the answers."""
        answers = [self[name].send(TOPIC, body, queue_id=queue_id) for body in bodies]
        assert [answer.code for answer in answers] == [0] * len(bodies), answers[0].remark
        assert {answer.ext["queueId"] for answer in answers} <= {str(queue_id)}
        return [int(answer.ext["queueOffset"]) for answer in answers]

    def read(self, name: str, offset: int = 0, *, queue_id: int = 0) -> list[tuple[int, bytes]]:
        """Return all messages that a consumer reads from an offset, each with its offset."""
        found: list[tuple[int, bytes]] = []
        for _ in range(50):
            answer = self[name].pull(TOPIC, offset=offset, queue_id=queue_id)
            if answer.code == ResponseCode.PULL_NOT_FOUND:
                break
            delta, offset = int(answer.ext["offsetDelta"]), int(answer.ext["nextBeginOffset"])
            found += [(message.queue_offset + delta, message.body) for message in answer.messages]
        return found
