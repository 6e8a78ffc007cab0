"""A static topic on two brokers in memory, and its one queue, which moves."""

from __future__ import annotations

import json
from dataclasses import replace

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import SendMessageRequestHeader
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster
from tests.support.topics import topic_header

TOPIC = "Static"
QUEUE = MessageQueue(TOPIC, "__syslo__global__", 0)
PORTS = {"broker-a": BROKER_PORT, "broker-b": 10941}
BLOCK = 10_000


class Moving:
    """The topic. Its queue, with the number 0, is first the second queue of broker-a."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.services: dict[str, BrokerService] = {"broker-a": cluster.service}
        self.services["broker-b"] = cluster.add_broker("broker-b", PORTS["broker-b"])
        self.items = [MappingItem(0, 1, "broker-a", 0)]
        self._epoch = 1
        self._report()

    def move(self, to: str) -> None:
        """Move the queue to another broker, where it continues at the next block of offsets."""
        last = self.items[-1]
        most = self.services[last.broker_name].broker.store.max_offset(TOPIC, last.queue_id)
        begin = (last.logical(most) // BLOCK + 1) * BLOCK
        self.items = [*self.items, MappingItem(last.gen + 1, last.queue_id + 1, to, begin)]
        self._report()

    def send(self, *bodies: str) -> None:
        """Send messages to the broker that leads."""
        for body in bodies:
            header = SendMessageRequestHeader(
                producer_group="Fillers",
                topic=TOPIC,
                default_topic="TBW102",
                default_topic_queue_nums=4,
                queue_id=0,
                sys_flag=0,
                born_timestamp=self.cluster.clock.millis(),
                flag=0,
            )
            answer = self._ask(self.items[-1].broker_name, RequestCode.SEND_MESSAGE, header, body.encode())
            assert answer.ext_fields["queueId"] == "0"
            self.cluster.net.advance(1.0)

    def _report(self) -> None:
        self._epoch += 1
        for name in PORTS:
            mapping = TopicQueueMappingDetail(TOPIC, name, 1, self._epoch)
            if any(item.broker_name == name for item in self.items):
                mapping = replace(mapping, queues={0: self.items})
            header = topic_header(TOPIC, 8)
            body = json.dumps(mapping.to_json()).encode()
            self._ask(name, RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, header, body)
        self.cluster.settle(1.0)

    def _ask(self, name: str, code: int, header: Header, body: bytes) -> RemotingCommand:
        answer = self.cluster.meet(PORTS[name]).ask(code, header, body)
        assert answer.code == 0, answer.remark
        return answer
