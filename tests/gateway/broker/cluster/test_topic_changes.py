"""A topic that is changed at one broker is changed at the others of its cluster."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.cluster.name_servers import NameServers
from mqgateway.gateway.broker.cluster.topic_changes import repeat_change
from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import PeerGone

CLUSTER = ClusterInfo(
    {
        "a": BrokerData("c", "a", {0: "a:1"}),
        "b": BrokerData("c", "b", {0: "b:1", 1: "b:2"}),
        "away": BrokerData("c", "away", {1: "away:2"}),
        "other": BrokerData("another cluster", "other", {0: "other:1"}),
    }
)


class World:
    """Broker `a` of the cluster `c`; `sent` has the requests to others."""

    def __init__(self) -> None:
        self.options = BrokerOptions(broker_name="a", broker_cluster_name="c", namesrv_addr="n:1")
        self.answer: Deferred[RemotingCommand] = succeed(RemotingCommand.response(0))
        self.sent: list[tuple[str, int, dict[str, str]]] = []
        name_servers = NameServers(self.options, self._ask)
        self.directory = BrokerDirectory(self.options, ManualClock(), self._ask, name_servers)

    def _ask(self, address: str, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        if command.code == RequestCode.GET_BROKER_CLUSTER_INFO:
            return succeed(RemotingCommand.response(0, body=CLUSTER.encode()))
        self.sent.append((address, command.code, dict(command.ext_fields)))
        return self.answer

    def repeat(self, config: TopicConfig) -> dict[str, str]:
        """Repeat a change; return the reasons of refusals."""
        found: list[Any] = []
        Deferred.fromCoroutine(repeat_change(self.directory, self.options, config)).addBoth(found.append)
        (reasons,) = found
        return cast(dict[str, str], reasons)


def test_masters_of_the_cluster_receive_the_topic() -> None:
    world = World()
    config = TopicConfig("T", 3, 4, 6, order=True, attributes={"+message.type": "FIFO", "-lite.topic": ""})
    assert world.repeat(config) == {}
    ((address, code, fields),) = world.sent
    assert (address, code) == ("b:1", RequestCode.UPDATE_AND_CREATE_TOPIC)
    assert fields["attributes"] == "+message.type=FIFO,-lite.topic"
    assert (fields["topic"], fields["readQueueNums"], fields["writeQueueNums"]) == ("T", "3", "4")
    assert (fields["perm"], fields["order"]) == ("6", "true")


def test_refusals_and_missing_answers_are_named() -> None:
    world = World()
    world.answer = succeed(RemotingCommand.response(1, remark="no"))
    assert world.repeat(TopicConfig("T")) == {"b": "no"}
    world.answer = fail(PeerGone("it is away"))
    assert world.repeat(TopicConfig("T")) == {"b": "broker b does not answer: it is away"}
