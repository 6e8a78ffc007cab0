"""The broker's table keeps the rules of a shared table of offsets."""

import pytest

from mqgateway.gateway.kafka.broker_offsets import BrokerOffsets
from mqgateway.gateway.kafka.coordinator.records import OffsetKey
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.group_names import store_group
from tests.gateway.kafka.coordinator.test_shared_offsets import check_shared_offsets
from tests.support.gateway.kafka.broker import KafkaBroker


def test_table_of_the_broker_keeps_the_rules() -> None:
    kafka = KafkaBroker()
    check_shared_offsets(BrokerOffsets(kafka.operations, kafka.topics))


def test_full_table_refuses_an_offset() -> None:
    kafka = KafkaBroker(options={"max_offsets": 0})
    with pytest.raises(NotWritten, match="maxOffsets"):
        BrokerOffsets(kafka.operations, kafka.topics).put(OffsetKey("g", "orders", 0), 1)


def test_topics_that_kafka_cannot_name_are_not_shown() -> None:
    kafka = KafkaBroker()
    kafka.broker.tables.offsets.commit("g", "%RETRY%g", 0, 1)
    kafka.broker.tables.offsets.commit("h", "deleted", 0, 1)
    shared = BrokerOffsets(kafka.operations, kafka.topics)
    assert shared.groups() == set() and shared.keys("g") == []
    assert not shared.has_group("g") and not shared.has_group("h")


@pytest.mark.parametrize("group", ["CID_RMQ_SYS_TRANS", "\ud800", "my.group", "%my", ""])
def test_has_group_agrees_with_the_list_of_groups(group: str) -> None:
    kafka = KafkaBroker()
    kafka.broker.tables.offsets.commit(store_group(group), "orders", 0, 1)
    shared = BrokerOffsets(kafka.operations, kafka.topics)
    assert shared.has_group(group) == (group in shared.groups()) == (group in ("my.group", "%my", ""))


def test_first_offset_of_a_group_makes_what_rocketmq_tools_look_for() -> None:
    kafka = KafkaBroker()
    BrokerOffsets(kafka.operations, kafka.topics).put(OffsetKey("my.group", "orders", 0), 1)
    assert kafka.broker.tables.topics.get("%RETRY%my%2Egroup") is not None
    assert kafka.operations.groups.get("my%2Egroup") is not None
