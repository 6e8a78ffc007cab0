"""Names of topics in both protocols."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.names import validate_topic
from mqgateway.engine.tables.partition_layout import ELSEWHERE
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from mqgateway.gateway.kafka.rights import READING, VISIBLE, WRITING
from mqgateway.gateway.kafka.topics import Topic, kafka_name, name_problem, store_name
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import kafka_scene

NAMES = st.from_regex(r"\A[a-zA-Z0-9._-]{1,100}\Z").filter(lambda name: name not in (".", ".."))


@given(NAMES)
def test_a_name_of_kafka_survives_the_way_to_rocketmq_and_back(name: str) -> None:
    assert validate_topic(store_name(name)) is None
    assert kafka_name(store_name(name)) == name


@pytest.mark.parametrize("name", ["%RETRY%group", "%DLQ%group", "a%b", ""])
def test_a_name_that_kafka_does_not_allow_has_no_name_there(name: str) -> None:
    assert kafka_name(name) is None


def test_problems_of_names_say_what_is_wrong() -> None:
    assert name_problem("a.b_c-d") is None
    assert "empty string" in (name_problem("") or "")
    assert "'..'" in (name_problem("..") or "")
    assert "249" in (name_problem("a" * 250) or "")
    assert "ASCII alphanumerics" in (name_problem("a b") or "")


def test_topic_of_another_group_has_numbers_of_its_own_in_the_table_of_offsets() -> None:
    topic = Topic("t", "t", bytes(16), TopicConfig("t", 4, 4), 1000, "b", None, "c", 4)
    assert [topic.offset_key(one) for one in (0, 3)] == [0, 3]
    assert [topic.partition_of(key) for key in (0, 3, ELSEWHERE)] == [0, 3, -1]
    apart = topic._replace(is_apart=True)
    assert [apart.offset_key(one) for one in (0, 3)] == [ELSEWHERE, ELSEWHERE + 3]
    assert [apart.partition_of(key) for key in (0, ELSEWHERE, ELSEWHERE + 3)] == [-1, 0, 3]


def test_a_topic_that_is_created_again_has_its_new_configuration() -> None:
    with kafka_scene() as scene:
        scene.server.create_topic("a", queues=1)
        from mqgateway.gateway.kafka.topics import Topics

        topics = Topics(scene.operations)
        first = topics.find("a")
        assert first is not None and topics.find("a") is first and topics.by_id(first.id) is first
        scene.server.create_topic("a", queues=3)
        again = topics.find("a")
        assert again is not None and again.partitions == 3 and again.id == first.id
        assert topics.by_id(b"\1" * 16) is None
        assert not first.keeps_batches and not first.is_internal
        assert first.setting("max.message.bytes") == "1048588"


def asked(kafka: KafkaBroker) -> KafkaCall:
    """Return a request of a client."""
    return KafkaCall(
        RequestHeader(0, 0, 1, "tester"), kafka.peer, Address("10.0.0.1", 9092), kafka.operations
    )


def test_topic_is_found_by_its_name_or_its_id_with_a_permit() -> None:
    kafka = KafkaBroker()
    call, topics = asked(kafka), kafka.topics
    for topic_id in (None, kafka.topic_id("my.topic")):
        place = topics.admitted(call, Use.PULL, READING, "my.topic" if topic_id is None else "", topic_id)
        assert isinstance(place, tuple) and place[0].name == "my.topic"
    assert topics.admitted(call, Use.PULL, READING, "other") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topics.admitted(call, Use.PULL, READING, "", b"x" * 16) == ErrorCode.UNKNOWN_TOPIC_ID


def test_client_without_rights_does_not_learn_which_topics_exist() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied = {(name, AclOperation.READ) for name in ("orders", "other")}
    call, topics = asked(kafka), kafka.topics
    for name in ("orders", "other"):
        assert topics.admitted(call, Use.PULL, READING, name) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert isinstance(topics.admitted(call, Use.PULL, VISIBLE, "orders"), tuple)


def test_topic_of_a_broker_that_may_not_be_written_to_is_that_of_another_leader() -> None:
    kafka = KafkaBroker()
    kafka.broker.store.gate = closed_gate(RoleKind.SLAVE)
    place = kafka.topics.admitted(asked(kafka), Use.SEND, WRITING, "orders")
    assert place == ErrorCode.NOT_LEADER_OR_FOLLOWER
