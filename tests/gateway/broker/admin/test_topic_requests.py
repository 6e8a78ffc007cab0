"""Topics as administration creates, changes, deletes and looks at them."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.steps import run
from mqgateway.gateway.broker.admin.topic_requests import update_topic
from mqgateway.gateway.codec.bodies import CreateTopicListRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from mqgateway.gateway.remoting.call import Call
from tests.support.gateway.broker.admin import AdminBroker, keyed, queue
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.topics import topic_header

INVALID = ResponseCode.INVALID_PARAMETER
SYSTEM = ResponseCode.SYSTEM_ERROR


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


def create(topic: str, **fields: Any) -> CreateTopicRequestHeader:
    return topic_header(topic, **{"read_queue_nums": 4, "write_queue_nums": 3} | fields)


def config(broker: AdminBroker, topic: str) -> Any:
    return broker.json(RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequestHeader(topic=topic))


def test_topic_is_created_as_requested(broker: AdminBroker) -> None:
    reported: list[str] = []
    broker.broker.tables.topics.watch_changes(
        lambda configs: reported.extend(one.topic_name for one in configs)
    )
    answer = broker.ask(
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        create("T", order=True, topic_sys_flag=1, attributes="+message.type=FIFO"),
    )
    assert answer.code == 0
    assert config(broker, "T") == {
        "attributes": {"message.type": "FIFO"},
        "order": True,
        "perm": 6,
        "readQueueNums": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicName": "T",
        "topicSysFlag": 1,
        "writeQueueNums": 3,
    }
    assert reported == ["T"]


def test_new_topic_is_answered_once_it_is_registered(broker: AdminBroker) -> None:
    known: Deferred[None] = Deferred()
    broker.broker.cluster.registration.heard = lambda: known
    header = create("T")
    call = Call(
        RemotingCommand.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header), header, b"", FakePeer(), 0
    )
    answer = update_topic(broker.broker, call)
    assert isinstance(answer, Deferred) and not answer.called
    known.callback(None)
    assert answer.called


def test_unchanged_topic_is_not_written(broker: AdminBroker) -> None:
    broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T"))
    before = broker.broker.tables.topics.data_version.counter
    assert broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T")).code == 0
    assert broker.broker.tables.topics.data_version.counter == before
    broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T", perm=4))
    assert broker.broker.tables.topics.data_version.counter == before + 1
    assert config(broker, "T")["perm"] == 4


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": " "}, INVALID, "The specified topic is blank."),
        (
            {"topic": "a!"},
            INVALID,
            "The specified topic: a!, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        (
            {"topic": "t" * 128},
            INVALID,
            f"The specified topic: {'t' * 128}, is longer than topic max length: 127",
        ),
        ({"topic": "TBW102"}, INVALID, "The topic[TBW102] is conflict with system topic."),
        ({"topic": "broker-a"}, INVALID, "The topic[broker-a] is conflict with system topic."),
        ({"attributes": "+message.type=MIXED"}, INVALID, "MIXED message type is not supported."),
        ({"attributes": "+colour=red"}, SYSTEM, "unsupported key: colour"),
        ({"attributes": "colour=red"}, SYSTEM, "add/alter attribute format is wrong: colour"),
        ({"read_queue_nums": 20000}, INVALID, "The topic[T] may not have more than 16384 queues."),
    ],
)
def test_invalid_topic_is_refused(
    broker: AdminBroker, fields: dict[str, Any], code: int, remark: str
) -> None:
    header = create(**{"topic": "T", **fields})
    assert broker.refusal(RequestCode.UPDATE_AND_CREATE_TOPIC, header) == (code, remark)
    assert "T" not in broker.broker.tables.topics


def test_no_more_topics_than_allowed() -> None:
    broker = AdminBroker()
    broker.options.max_topics = len(broker.broker.tables.topics) + 1
    assert broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T")).code == 0
    code, remark = broker.refusal(RequestCode.UPDATE_AND_CREATE_TOPIC, create("U"))
    assert code == SYSTEM and "maxTopics" in str(remark)
    assert broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T", perm=4)).code == 0


def test_a_list_is_created_whole(broker: AdminBroker) -> None:
    body = CreateTopicListRequestBody(
        topic_config_list=[
            {"topicName": "A", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6},
            {
                "topicName": "B",
                "readQueueNums": 2,
                "writeQueueNums": 2,
                "attributes": {"+message.type": "DELAY"},
            },
        ]
    )
    assert broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body.encode()).code == 0
    assert broker.broker.tables.topics.data_version.counter == 2
    assert config(broker, "A")["readQueueNums"] == 1
    assert config(broker, "B")["attributes"] == {"message.type": "DELAY"}


def test_bad_topic_refuses_the_whole_list(broker: AdminBroker) -> None:
    body = CreateTopicListRequestBody(topic_config_list=[{"topicName": "A"}, {"topicName": "b!"}])
    code, _ = broker.refusal(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body.encode())
    assert code == INVALID
    assert "A" not in broker.broker.tables.topics


def test_deleted_topic_loses_all_its_state(broker: AdminBroker) -> None:
    broker.add_topic("T")
    broker.fill("T", 2)
    broker.broker.tables.offsets.commit("g", "T", 0, 1)
    run(broker.broker.stats.tick(broker.clock.millis(), 0))
    broker.broker.transactions.prepared("T")
    assert broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="T")).code == 0
    assert broker.broker.tables.topics.get("T") is None
    assert broker.broker.tables.offsets.query("g", "T", 0) == -1
    assert "T" not in broker.broker.store.queues()
    assert broker.broker.stats.item("TOPIC_PUT_NUMS", "T") is None
    assert broker.broker.transactions.counts.table == {}


@pytest.mark.parametrize("is_kept", [False, True])
def test_deleted_topic_deletes_its_retry_topics(broker: AdminBroker, is_kept: bool) -> None:
    broker.options.clear_retry_topic_when_delete_topic = not is_kept
    names = ["%RETRY%g_T", "%RETRY%g+T", "%RETRY%h_T"]
    for name in ("T", *names):
        broker.add_topic(name)
    broker.broker.tables.offsets.commit("g", "T", 0, 1)
    assert broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="T")).code == 0
    left = [name for name in names if broker.broker.tables.topics.get(name) is not None]
    assert left == (names if is_kept else names[2:])


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        (" ", "The specified topic is blank."),
        ("SCHEDULE_TOPIC_XXXX", "The topic[SCHEDULE_TOPIC_XXXX] is conflict with system topic."),
        ("DefaultCluster", "The topic[DefaultCluster] is conflict with system topic."),
    ],
)
def test_some_topics_cannot_be_deleted(broker: AdminBroker, topic: str, remark: str) -> None:
    header = DeleteTopicRequestHeader(topic=topic)
    assert broker.refusal(RequestCode.DELETE_TOPIC_IN_BROKER, header) == (INVALID, remark)


def test_deletion_of_an_unknown_topic_succeeds(broker: AdminBroker) -> None:
    assert broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="T")).code == 0


def test_an_unknown_topic_cannot_be_shown(broker: AdminBroker) -> None:
    assert broker.refusal(RequestCode.GET_TOPIC_CONFIG, GetTopicConfigRequestHeader(topic="T")) == (
        ResponseCode.TOPIC_NOT_EXIST,
        "No topic in this broker. topic: T",
    )


def test_stats_have_both_ends_of_each_queue(broker: AdminBroker) -> None:
    broker.add_topic("T", queues=3)
    broker.fill("T", 2, 1)
    last = broker.clock.millis()
    found = broker.json(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic="T"))
    assert found["topicPutTps"] == 0.0
    assert keyed(found["offsetTable"]) == {
        queue("T", 0): {"minOffset": 0, "maxOffset": 2, "lastUpdateTimestamp": last - 1000},
        queue("T", 1): {"minOffset": 0, "maxOffset": 1, "lastUpdateTimestamp": last},
        queue("T", 2): {"minOffset": 0, "maxOffset": 0, "lastUpdateTimestamp": 0},
    }
    unknown = GetTopicStatsInfoRequestHeader(topic="U")
    assert broker.refusal(RequestCode.GET_TOPIC_STATS_INFO, unknown) == (17, "topic[U] not exist")


def test_time_spans_have_store_times_and_the_delay_of_the_group(broker: AdminBroker) -> None:
    broker.add_topic("T", queues=2)
    broker.fill("T", 3)
    broker.broker.tables.offsets.commit("g", "T", 0, 1)
    last = broker.clock.millis()
    broker.clock.advance(500)
    header = QueryConsumeTimeSpanRequestHeader(topic="T", group="g")
    spans = broker.json(RequestCode.QUERY_CONSUME_TIME_SPAN, header)["consumeTimeSpanSet"]
    assert spans[0] == {
        "messageQueue": dict(queue("T", 0)),
        "minTimeStamp": last - 2000,
        "maxTimeStamp": last,
        "consumeTimeStamp": last - 2000,
        "delayTime": 1500,
    }
    assert (spans[1]["minTimeStamp"], spans[1]["maxTimeStamp"], spans[1]["consumeTimeStamp"]) == (-1, -1, -1)
    unknown = QueryConsumeTimeSpanRequestHeader(topic="U", group="g")
    assert broker.refusal(RequestCode.QUERY_CONSUME_TIME_SPAN, unknown) == (17, "topic[U] not exist")


def test_groups_of_a_topic_subscribe_or_have_offsets(broker: AdminBroker) -> None:
    broker.subscribe("online", "T")
    broker.broker.tables.offsets.commit("offline", "T", 0, 1)
    broker.broker.tables.offsets.commit("elsewhere", "U", 0, 1)
    header = QueryTopicConsumeByWhoRequestHeader(topic="T")
    found = broker.json(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
    assert found == {"groupList": ["offline", "online"]}


def test_system_topics_are_the_reserved_ones_and_this_brokers_own(broker: AdminBroker) -> None:
    broker.add_topic("T")
    found = broker.json(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)["topicList"]
    assert {"TBW102", "SCHEDULE_TOPIC_XXXX", "broker-a", "DefaultCluster", "RMQ_SYS_TRACE_TOPIC"} <= set(
        found
    )
    assert "T" not in found
