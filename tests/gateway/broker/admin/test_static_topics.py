"""Administration of static topics: what is taken over, refused, shown."""

import json
from typing import Any

import pytest

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin.static_topics import update_static_topic
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import ConsumeStats, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    DeleteTopicRequestHeader,
    GetConsumeStatsRequestHeader,
    GetTopicConfigRequestHeader,
)
from tests.support.gateway.broker.clusters import TOPIC, Cluster

GOOD = TopicQueueMappingDetail(TOPIC, "a", 1, 5, queues={0: [MappingItem(0, 0, "a", 0)]}).to_json()


def test_topic_and_mapping_are_stored_together() -> None:
    brokers = Cluster("a")
    reported: list[Any] = []
    brokers["a"].broker.tables.topics.watch_changes(reported.append)
    for _ in range(2):
        assert brokers.update("a", GOOD).code == 0
    assert len(reported) == 2
    broker = brokers["a"].broker
    config = broker.tables.topics.get(TOPIC)
    assert config is not None and (config.read_queue_nums, config.perm) == (8, 6)
    assert broker.tables.mappings.table[TOPIC].to_json() == GOOD


def test_operation_updates_a_static_topic() -> None:
    broker = Cluster("a")["a"].broker
    mapping = TopicQueueMappingDetail.from_json(GOOD)
    for config, reason in (
        (TopicConfig("other"), Reason.SYSTEM_ERROR),
        (TopicConfig("no such name!"), Reason.INVALID_PARAMETER),
    ):
        with pytest.raises(OperationError) as refused:
            update_static_topic(broker, config, mapping)
        assert refused.value.reason is reason
    assert update_static_topic(broker, TopicConfig(TOPIC), mapping).called
    assert broker.tables.mappings.table[TOPIC].to_json() == GOOD


def test_a_topic_keeps_its_attributes() -> None:
    brokers = Cluster("a")
    brokers["a"].add_topic(TOPIC, attributes={"message.type": "FIFO"})
    brokers.update("a", GOOD)
    config = brokers["a"].broker.tables.topics.get(TOPIC)
    assert config is not None and config.attributes == {"message.type": "FIFO"}


@pytest.mark.parametrize(
    ("mapping", "fields", "code", "remark"),
    [
        (GOOD, {"topic": "no such name!"}, 29, "contains illegal characters"),
        (GOOD, {"topic": "TBW102"}, 29, "conflict with system topic"),
        (GOOD, {"topic": "other"}, 1, "the mapping is for topic static"),
        (GOOD | {"bname": "b"}, {}, 1, "the mapping is for broker b"),
        (GOOD | {"epoch": "x"}, {}, 1, "epoch is not of type int"),
        (GOOD | {"hostedQueues": {"-1": []}}, {}, 1, "numbered from 0"),
        (b"", {}, 1, ""),
        (b"5", {}, 1, "not an object"),
    ],
)
def test_refused_mapping_changes_nothing(
    mapping: Any, fields: dict[str, Any], code: int, remark: str
) -> None:
    brokers = Cluster("a")
    answer = brokers.update("a", mapping, **fields)
    assert answer.code == code and remark in (answer.remark or "")
    assert TOPIC not in brokers["a"].broker.tables.topics
    assert not brokers["a"].broker.tables.mappings.table


def test_old_mapping_requires_force() -> None:
    brokers = Cluster("a")
    brokers.update("a", GOOD)
    assert brokers.update("a", GOOD | {"epoch": 4}).code == 1
    assert brokers.update("a", GOOD | {"epoch": 4}, force=True).code == 0


def test_topics_and_mapping_items_are_limited() -> None:
    full = Cluster("a", max_topics=1)
    assert "maxTopics" in (full.update("a", GOOD).remark or "")
    small = Cluster("a", max_queue_pieces=1)
    two = GOOD | {"hostedQueues": {"0": GOOD["hostedQueues"][0], "1": GOOD["hostedQueues"][0]}}
    assert "maxQueuePieces" in (small.update("a", two).remark or "")


def test_mapping_is_shown_on_request() -> None:
    brokers = Cluster("a")
    brokers.update("a", GOOD)
    shown = []
    for lo in (None, False, True):
        answer = brokers["a"].ask(
            RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequestHeader(topic=TOPIC, lo=lo)
        )
        shown.append(answer.arrived.body)
    assert b"mappingDetail" not in shown[0] + shown[1]
    assert b'"hostedQueues":{0:[{"bname":"a"' in shown[2]


def test_slaves_receive_the_mappings() -> None:
    brokers = Cluster("a")
    brokers.update("a", GOOD)
    body = brokers["a"].ask(RequestCode.GET_ALL_TOPIC_CONFIG).arrived.body
    reported = TopicConfigAndMappingSerializeWrapper.decode(body)
    assert list(reported.topic_queue_mapping_detail_map) == [TOPIC]
    assert reported.mapping_data_version == brokers["a"].broker.tables.mappings.data_version.to_json()


def test_a_deleted_topic_has_no_mapping() -> None:
    brokers = Cluster("a")
    brokers.update("a", GOOD)
    assert (
        brokers["a"].ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic=TOPIC)).code == 0
    )
    assert not brokers["a"].broker.tables.mappings.table


def test_uncommitted_queues_are_shown_to_tools() -> None:
    brokers = Cluster("a")
    brokers.update("a", GOOD)
    brokers["a"].broker.tables.offsets.commit("G", TOPIC, 1, 3)
    header = GetConsumeStatsRequestHeader(consumer_group="G", topic=TOPIC)
    stats = ConsumeStats.decode(brokers["a"].ask(RequestCode.GET_CONSUME_STATS, header).arrived.body)
    assert sorted(one.consumer_offset for one in stats.offset_table.values()) == [-1] * 7 + [3]


def test_fastjson_mapping_is_parsed() -> None:
    text = json.dumps(GOOD).replace('"0": [', "0: [")
    assert "0: [" in text
    assert Cluster("a").update("a", text.encode()).code == 0
