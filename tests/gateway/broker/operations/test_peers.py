"""Operations on topics of other groups."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.operations import NotInTransaction, OperationError, Reason, TopicExists, Use
from tests.support.gateway.kafka.cluster import KafkaCluster


def outcome(deferred: Deferred[Any], cluster: KafkaCluster) -> Any:
    """Return the outcome of a request, an exception if it fails."""
    found: list[Any] = []
    deferred.addCallbacks(found.append, lambda failure: found.append(failure.value))
    cluster.wait(10)
    [one] = found
    return one


def test_topic_is_put_and_deleted_in_another_group() -> None:
    cluster = KafkaCluster()
    operations = cluster.operations("a")
    peers, permit = operations.peers, operations.gate.internal(Use.ADMINISTER)
    assert peers is not None and (peers.names, peers.own, peers.others) == (("a", "b"), "a", ("b",))
    config = TopicConfig("new", 2, 2)
    assert outcome(peers.put_topic(permit, "b", config, is_new=True), cluster) is None
    known = peers.foreign("new")
    assert known is not None and known.group == "b" and known.config.write_queue_nums == 2
    assert isinstance(outcome(peers.put_topic(permit, "b", config, is_new=True), cluster), TopicExists)
    assert outcome(peers.put_topic(permit, "b", TopicConfig("new", 3, 3)), cluster) is None
    assert cluster.operations("b").topics.known("new").write_queue_nums == 3
    refused = outcome(peers.put_topic(permit, "b", TopicConfig("not ok", 3, 3), is_new=True), cluster)
    assert isinstance(refused, OperationError) and not isinstance(refused, TopicExists)
    assert outcome(peers.delete_topic(permit, "new"), cluster) is None
    assert peers.foreign("new") is None and "new" not in cluster.operations("b").topics
    assert outcome(peers.delete_topic(permit, "new"), cluster) is None


def test_change_by_a_broker_with_an_older_configuration_loses_no_queue() -> None:
    cluster = KafkaCluster()
    operations = cluster.operations("a")
    peers, permit = operations.peers, operations.gate.internal(Use.ADMINISTER)
    assert peers is not None
    assert outcome(peers.put_topic(permit, "b", TopicConfig("grown", 4, 4), is_new=True), cluster) is None
    old = TopicConfig("grown", 2, 2, perm=2, attributes={"+message.type": "NORMAL"})
    assert outcome(peers.put_topic(permit, "b", old), cluster) is None
    config = cluster.operations("b").topics.known("grown")
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (4, 4, 6)
    assert config.attributes["message.type"] == "NORMAL"


def test_change_of_a_deleted_topic_does_not_make_it_again() -> None:
    cluster = KafkaCluster()
    operations = cluster.operations("a")
    peers, permit = operations.peers, operations.gate.internal(Use.ADMINISTER)
    assert peers is not None
    refused = outcome(peers.put_topic(permit, "b", TopicConfig("deleted", 2, 2)), cluster)
    assert isinstance(refused, OperationError) and refused.reason is Reason.TOPIC_NOT_EXIST
    assert "deleted" not in cluster.operations("b").topics


def test_delete_that_is_not_answered_fails() -> None:
    cluster = KafkaCluster()
    topic = cluster.make_topic("b")
    cluster.stop("b")
    operations = cluster.operations("a")
    assert operations.peers is not None
    permit = operations.gate.internal(Use.ADMINISTER)
    assert isinstance(outcome(operations.peers.delete_topic(permit, topic), cluster), OperationError)


def test_marker_without_a_place_is_refused() -> None:
    cluster = KafkaCluster()
    cluster.member("b").create("plain")
    peers = cluster.operations("a").peers
    assert peers is not None
    marker = Marker(7, 0, True, 0)
    for topic in ("plain", "none"):
        assert isinstance(outcome(peers.write_marker("b", topic, 0, marker), cluster), NotInTransaction)
