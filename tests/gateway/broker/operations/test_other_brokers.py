"""Questions to other brokers, through the gate and the directory."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.gateway.broker.operations import Operations, Principal, Use
from mqgateway.gateway.codec.bodies import (
    Connection,
    ConsumerConnection,
    ConsumeStats,
    HARuntimeInfo,
    KVTable,
    MessageQueue,
    OffsetWrapper,
    SubscriptionGroupWrapper,
    TopicConfigAndMappingSerializeWrapper,
    TopicOffset,
    TopicStatsTable,
)
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.bodies.tables import TopicFigures
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.remoting.exchange import RemotingError
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker
from tests.support.gateway.broker.operating import InlineRunner


class Asked:
    """A directory's way to another broker, which answers so."""

    def __init__(self, answer: RemotingCommand | Exception) -> None:
        self.answer = answer
        self.codes: list[int] = []

    def __call__(self, address: str, command: RemotingCommand, _: float) -> Deferred[RemotingCommand]:
        self.codes.append(command.code)
        return fail(self.answer) if isinstance(self.answer, Exception) else succeed(self.answer)


def operations(asked: Asked) -> Operations:
    memory = MemoryBroker()
    memory.broker.cluster.broker_directory._ask = asked
    return Operations(memory.broker, InlineRunner(memory))


def test_figures_and_settings_of_a_broker_are_read() -> None:
    asked = Asked(RemotingCommand(ResponseCode.SUCCESS, body=KVTable({"putTps": "1"}).encode()))
    made = operations(asked)
    permit = made.gate.admit(Principal(FakePeer("10.0.0.1:1"), None), Use.QUERY)
    assert made.other_brokers.runtime_info(permit, "h:1").result == {"putTps": "1"}
    asked.answer = RemotingCommand(ResponseCode.SUCCESS, body=b"brokerName=b\n")
    assert made.other_brokers.settings(permit, "h:1").result == {"brokerName": "b"}
    assert asked.codes == [RequestCode.GET_BROKER_RUNTIME_INFO, RequestCode.GET_BROKER_CONFIG]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (RemotingError("no connection"), "the broker does not answer: no connection"),
        (RemotingCommand(ResponseCode.NO_PERMISSION, remark="no"), "the broker answers 16, no"),
    ],
)
def test_broker_that_does_not_answer_or_refuses_is_an_error(
    answer: RemotingCommand | Exception, text: str
) -> None:
    made = operations(Asked(answer))
    permit = made.gate.admit(Principal(FakePeer("10.0.0.1:1"), None), Use.QUERY)
    failures: list[RequestError] = []
    made.other_brokers.settings(permit, "h:1").addErrback(lambda failure: failures.append(failure.value))
    [error] = failures
    assert isinstance(error, RequestError) and text in str(error)


def test_tables_and_figures_of_topics_and_groups_are_read() -> None:
    queue = MessageQueue("T", "b", 0)
    stats, progress = (
        TopicStatsTable({queue: TopicOffset(0, 5, 9)}),
        ConsumeStats({queue: OffsetWrapper(5, 3)}),
    )
    connections, replicas = ConsumerConnection([Connection("c1", "h:5")]), HARuntimeInfo(True, 900)
    topics = TopicConfigAndMappingSerializeWrapper(
        {"T": {"topicName": "T"}, "U": {}}, topic_figures={"T": TopicFigures(4, 0.5)}
    )
    groups = SubscriptionGroupWrapper({"G": {}, "H": {}}, group_lags={"G": 3})
    asked = Asked(RemotingCommand(ResponseCode.SUCCESS))
    made = operations(asked)
    permit, other = made.gate.admit(Principal(FakePeer("10.0.0.1:1"), None), Use.QUERY), made.other_brokers
    questions: list[tuple[Body, Callable[[], Deferred[Any]], object]] = [
        (topics, lambda: other.topics(permit, "h:1", has_figures=True), topics),
        (groups, lambda: other.group_lags(permit, "h:1"), {"G": 3, "H": None}),
        (stats, lambda: other.topic_stats(permit, "h:1", "T"), stats),
        (progress, lambda: other.consume_stats(permit, "h:1", "G"), progress),
        (connections, lambda: other.members(permit, "h:1", "G"), ["c1"]),
        (replicas, lambda: other.replication(permit, "h:1"), replicas),
    ]
    for body, ask, expected in questions:
        asked.answer = RemotingCommand(ResponseCode.SUCCESS, body=body.encode())
        assert ask().result == expected
    assert asked.codes == [21, 201, 202, 208, 203, 907]


def test_group_without_members_has_none_and_is_no_error() -> None:
    made = operations(Asked(RemotingCommand(ResponseCode.CONSUMER_NOT_ONLINE, remark="not online")))
    permit = made.gate.admit(Principal(FakePeer("10.0.0.1:1"), None), Use.QUERY)
    assert made.other_brokers.members(permit, "h:1", "G").result == []
