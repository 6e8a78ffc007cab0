"""Progress of groups: shown, compared, and reset here or in the clients."""

from typing import Any

import pytest

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.codes import LanguageCode, RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.headers import (
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from tests.support.gateway.broker.admin import AdminBroker, keyed, queue

LONG_MAX = 2**63 - 1
RESET = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET


@pytest.fixture
def broker() -> AdminBroker:
    broker = AdminBroker()
    broker.add_topic("T", queues=2)
    broker.fill("T", 4, 2)
    broker.broker.tables.groups.find("g")
    return broker


def reset(**fields: Any) -> ResetOffsetRequestHeader:
    return ResetOffsetRequestHeader(**{"group": "g", "topic": "T", "timestamp": 0, "is_force": True} | fields)


def stats(broker: AdminBroker, **fields: Any) -> dict[Any, Any]:
    header = GetConsumeStatsRequestHeader(consumer_group="g", **fields)
    return keyed(broker.json(RequestCode.GET_CONSUME_STATS, header)["offsetTable"])


def offsets_of(table: Any) -> dict[int, int]:
    return {key["queueId"]: offset for key, offset in table["offsetTable"].items()}


def test_progress_on_a_topic(broker: AdminBroker) -> None:
    broker.broker.tables.offsets.commit("g", "T", 0, 2)
    broker.broker.tables.offsets.commit_pull("g", "T", 0, 3, 0)
    stored = broker.stored("T", 0, 1, 1)[0].store_timestamp
    assert stats(broker, topic="T") == {
        queue("T", 0): {"brokerOffset": 4, "consumerOffset": 2, "pullOffset": 3, "lastTimestamp": stored},
        queue("T", 1): {"brokerOffset": 2, "consumerOffset": 0, "pullOffset": 0, "lastTimestamp": 0},
    }


def test_progress_on_all_topics_a_group_has_offsets_in(broker: AdminBroker) -> None:
    broker.add_topic("U", queues=1)
    broker.broker.tables.offsets.commit("g", "U", 0, 0)
    broker.broker.tables.offsets.commit("g", "gone", 0, 0)
    assert set(stats(broker)) == {queue("U", 0)}
    assert set(stats(broker, topic_list="T;U")) == {queue("T", 0), queue("T", 1), queue("U", 0)}


def test_unsubscribed_topics_of_a_connected_group_are_left_out(broker: AdminBroker) -> None:
    broker.broker.tables.offsets.commit("g", "T", 0, 0)
    broker.subscribe("g", "U")
    assert stats(broker) == {}
    assert stats(broker, topic="T") == {}
    assert stats(broker, topic_list="T") != {}


def test_progress_of_all_groups(broker: AdminBroker) -> None:
    broker.broker.tables.offsets.commit("g", "T", 0, 1)
    broker.broker.tables.offsets.commit_pull("g", "T", 0, 3, 0)
    found = broker.json(RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBrokerHeader(is_order=False))
    assert (found["brokerAddr"], found["totalDiff"], found["totalInflightDiff"]) == ("127.0.0.1:10911", 5, 2)
    by_group = {group: stats for entry in found["consumeStatsList"] for group, stats in entry.items()}
    assert set(by_group) == set(broker.broker.tables.groups.names())
    (of_topic,) = by_group["g"]
    assert set(keyed(of_topic["offsetTable"])) == {queue("T", 0), queue("T", 1)}
    ordered = broker.json(RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBrokerHeader(is_order=True))
    assert ordered["totalDiff"] == 0


def test_the_least_offset_of_all_groups(broker: AdminBroker) -> None:
    offsets = broker.broker.tables.offsets
    for group, offset in (("a", 3), ("b", 2), ("c", 1)):
        offsets.commit(group, "T", 0, offset)

    def least(compare: str, without: str | None = None) -> Any:
        header = QueryCorrectionOffsetHeader(compare_group=compare, topic="T", filter_groups=without)
        return broker.json(RequestCode.QUERY_CORRECTION_OFFSET, header)["correctionOffsets"]

    assert least("a") == {0: 1}
    assert least("nobody") == {0: 1}
    assert least("a", "c") == {0: 2}
    assert least("c", "c") == {0: LONG_MAX}, "it has not come as far as the others"
    assert offsets.query("c", "T", 0) == 1, "who is left out keeps its offsets"


def test_a_reset_is_for_the_next_pull(broker: AdminBroker) -> None:
    broker.broker.tables.offsets.commit("g", "T", 0, 4)
    assert offsets_of(broker.json(RESET, reset())) == {0: 0, 1: 0}
    assert broker.broker.tables.offsets.has_reset("g", "T", 0)
    broker.subscribe("g", "T")
    answer = broker.pull("T", offset=4, group="g")
    assert answer.code == ResponseCode.PULL_OFFSET_MOVED
    assert answer.ext["nextBeginOffset"] == "0"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"timestamp": -1}, {0: 4, 1: 2}),
        ({"timestamp": 0, "queue_id": 1}, {1: 0}),
        ({"queue_id": 0, "offset": 3}, {0: 3}),
        ({"queue_id": 0, "offset": 5}, {0: 5}),
        ({"queue_id": 0, "offset": -1, "timestamp": -1}, {0: 4}),
    ],
)
def test_offsets_after_a_reset(broker: AdminBroker, fields: dict[str, int], expected: dict[int, int]) -> None:
    assert offsets_of(broker.json(RESET, reset(**fields))) == expected


def test_reset_to_a_time_selects_the_first_message_at_or_after_it(broker: AdminBroker) -> None:
    third = broker.stored("T", 0, 2, 1)[0].store_timestamp
    assert offsets_of(broker.json(RESET, reset(timestamp=third, queue_id=0))) == {0: 2}


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": "U"}, ResponseCode.TOPIC_NOT_EXIST, "Topic U does not exist"),
        ({"group": "x"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group x does not exist"),
        (
            {"queue_id": 0, "offset": 6},
            ResponseCode.SYSTEM_ERROR,
            "Target offset 6 not in consume queue range [0-4]",
        ),
    ],
)
def test_impossible_resets_are_refused(
    broker: AdminBroker, fields: dict[str, Any], code: int, remark: str
) -> None:
    assert broker.refusal(RESET, reset(**fields)) == (code, remark)


def test_topic_without_queues_cannot_be_reset(broker: AdminBroker) -> None:
    broker.add_topic("E", queues=0)
    assert broker.refusal(RESET, reset(topic="E")) == (ResponseCode.SYSTEM_ERROR, "No queues to reset.")


class TestInTheClients:
    """Without `useServerSideResetOffset` the members are notified."""

    @pytest.fixture
    def broker(self, broker: AdminBroker) -> AdminBroker:
        broker.options.use_server_side_reset_offset = False
        for queue_id, offset in ((0, 3), (1, 1)):
            broker.broker.tables.offsets.commit("g", "T", queue_id, offset)
        return broker

    def test_members_are_notified_of_offsets(self, broker: AdminBroker) -> None:
        broker.subscribe("g", "T")
        assert offsets_of(broker.json(RESET, reset(timestamp=-1))) == {0: 4, 1: 2}
        (reported,) = broker.consumer.sent
        assert reported.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET and reported.is_oneway
        assert (reported.ext_fields["topic"], reported.ext_fields["group"]) == ("T", "g")
        assert offsets_of(loads(reported.body)) == {0: 4, 1: 2}
        assert not broker.broker.tables.offsets.has_reset("g", "T", 0)

    def test_reset_without_force_never_moves_forward(self, broker: AdminBroker) -> None:
        broker.subscribe("g", "T")
        assert offsets_of(broker.json(RESET, reset(timestamp=-1, is_force=False))) == {0: 3, 1: 1}
        assert offsets_of(broker.json(RESET, reset(timestamp=0, is_force=False))) == {0: 0, 1: 0}

    def test_cpp_clients_get_a_list(self, broker: AdminBroker) -> None:
        broker.subscribe("g", "T")
        command = RemotingCommand.request(RESET, reset())
        command.language = LanguageCode.CPP
        broker.dispatcher.dispatch(decode_command(encode_command(command)[4:]), broker.producer)
        (reported,) = broker.consumer.sent
        assert loads(reported.body)["offsetTable"] == [
            {"topic": "T", "brokerName": "broker-a", "queueId": queue_id, "offset": 0} for queue_id in (0, 1)
        ]

    @pytest.mark.parametrize(
        ("fields", "code", "remark"),
        [
            (
                {"topic": "U"},
                ResponseCode.TOPIC_NOT_EXIST,
                "[reset-offset] reset offset failed, no topic in this broker. topic=U",
            ),
            ({"group": "x"}, ResponseCode.SYSTEM_ERROR, "THe consumer group <x> not exist"),
            (
                {},
                ResponseCode.CONSUMER_NOT_ONLINE,
                "Consumer not online, so can not reset offset, Group: g Topic: T Timestamp: 0",
            ),
        ],
    )
    def test_invalid_reset_is_refused(
        self, broker: AdminBroker, fields: dict[str, Any], code: int, remark: str
    ) -> None:
        assert broker.refusal(RESET, reset(**fields)) == (code, remark)
