"""Requests between the masters of broker groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.broker.errors import OperationError
from mqgateway.gateway.broker.replication.node_exchange import ANSWER_FIELD
from mqgateway.gateway.broker.replication.peer_exchange import GROUP_FIELD, KIND_FIELD, NAMES_FIELD
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import ExchangeHAInfoRequestHeader
from mqgateway.gateway.remoting.call import RequestError
from tests.support.gateway.broker.group import Group
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.remoting.pair import Talker


def ask(cluster: KafkaCluster, at: str, body: bytes = b"", **fields: str) -> RemotingCommand:
    """Return the answer of a group's master to request 906."""
    member, talker = cluster.member(at), Talker()
    member.group.net.meet(member.port, talker, ("192.168.1.1", member.group.next_port()))
    header = ExchangeHAInfoRequestHeader()
    command = RemotingCommand.request(RequestCode.EXCHANGE_BROKER_HA_INFO, header, body, ext=fields)
    talker.transport.write(encode_command(command))
    member.group.net.settle()
    [answer] = talker.take()
    return answer


def outcome(deferred: Deferred[Any], cluster: KafkaCluster) -> Any:
    """Return the outcome of a request, an exception if it fails."""
    found: list[Any] = []
    deferred.addCallbacks(found.append, lambda failure: found.append(failure.value))
    cluster.wait(10)
    [one] = found
    return one


def test_broker_answers_for_its_own_group_only() -> None:
    cluster = KafkaCluster()
    assert ANSWER_FIELD in ask(cluster, "a", **{GROUP_FIELD: "a"}).ext_fields
    assert ANSWER_FIELD not in ask(cluster, "a", **{GROUP_FIELD: "b"}).ext_fields


@pytest.mark.parametrize(
    ("names", "is_right"), [("a,b", True), ("a", True), ("a,b,c", True), ("b,a", False), ("a,c", False)]
)
def test_brokers_with_other_settings_are_refused(names: str, is_right: bool) -> None:
    answer = ask(KafkaCluster(), "a", **{GROUP_FIELD: "a", NAMES_FIELD: names})
    assert (ANSWER_FIELD in answer.ext_fields) == is_right
    assert answer.code == (ResponseCode.SUCCESS if is_right else ResponseCode.INVALID_PARAMETER)
    assert is_right or f"a,b here, and {names}" in (answer.remark or "")


def test_request_of_a_kind_is_served_by_its_function() -> None:
    cluster = KafkaCluster()
    peers = cluster.operations("b").peers
    asking = cluster.operations("a").peers
    assert peers is not None and asking is not None

    def serve(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if not fields:
            raise ValueError("nothing")
        return {"twice": fields["number"] * 2}

    peers.serve("double", serve)
    assert outcome(asking.ask("b", "double", {"number": 4}), cluster) == {"twice": 8}
    assert "nothing" in str(outcome(asking.ask("b", "double", {}), cluster))
    assert "halve is not served" in str(outcome(asking.ask("b", "halve", {}), cluster))
    fields = {GROUP_FIELD: "b", KIND_FIELD: "double"}
    assert ask(cluster, "b", b"[]", **fields).code == ResponseCode.INVALID_PARAMETER
    cluster.stop("b")
    assert isinstance(outcome(asking.ask("b", "double", {"number": 4}), cluster), OperationError)


def test_refreshes_while_a_group_is_asked_share_the_next_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = KafkaCluster().member("a").service.broker
    assert broker.peers is not None
    asked: list[Deferred[RemotingCommand]] = []

    def ask(group: str, command: RemotingCommand) -> Deferred[RemotingCommand]:
        asked.append(Deferred())
        return asked[-1]

    monkeypatch.setattr(broker.cluster.broker_directory, "ask", ask)
    done = [broker.peers.refresh("b") for _ in range(4)]
    for is_done in ([True, False, False, False], [True] * 4):
        asked[-1].errback(RequestError(ResponseCode.SYSTEM_ERROR, "late"))
        assert [each.called for each in done] == is_done and len(asked) == 2


def test_new_master_of_a_group_is_found() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    cluster.stop("b")
    cluster.wait(15)
    [found] = cluster.metadata("a", topic).topics
    assert {one.leader_id for one in found.partitions} == {-1}
    cluster.restart("b")
    cluster.wait(4)
    assert cluster.leaders("a", topic) == [1001, 1001]


def test_broker_whose_group_is_not_in_the_setting_does_not_start() -> None:
    with pytest.raises(ConfigError, match="kafkaClusterGroups"):
        Group().master(kafka_cluster_groups="x,y")
