"""Heartbeats and unregistrations: entries of the tables, created groups and topics, answers and refusals."""

import pytest

from mqgateway.engine.steps import run
from mqgateway.gateway.broker.clients import heartbeats
from mqgateway.gateway.broker.clients.locks import ORPHAN_LIFE_MILLIS
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import (
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    MessageQueue,
    ProducerData,
    SubscriptionData,
)
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader
from tests.support.gateway.broker.admin import AdminBroker, consumer
from tests.support.gateway.broker.helpers import FakePeer, subscription

ONE = "10.0.0.1:4001"
TWO = "10.0.0.2:4002"

NO_SQL = (
    "The broker does not support consumer to filter message by SQL92; "
    "the broker's setting enablePropertyFilter=true allows it"
)


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


def members(broker: AdminBroker, group: str) -> list[str]:
    header = GetConsumerListByGroupRequestHeader(consumer_group=group)
    found: list[str] = broker.json(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)["consumerIdList"]
    return found


def test_heartbeat_registers_its_groups_and_requests_a_full_one(broker: AdminBroker) -> None:
    answer = broker.heart_beat(FakePeer(ONE), consumer("g", "t"), producers=("p",), client_id="me@1")
    assert answer.code == 0
    assert answer.ext == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    assert members(broker, "g") == ["me@1"]
    clients = broker.broker.clients
    assert clients.subscription("g", "t") == subscription("t")
    (producer,) = clients.producer_groups["p"].values()
    assert (producer.client_id, producer.language) == ("me@1", "PYTHON")


CPP = (
    b'{"clientID":"10.0.0.1@7","consumerDataSet":[{"consumeFromWhere":0,"consumeType":1,"groupName":"g",'
    b'"messageModel":%d,"subscriptionDataSet":[{"codeSet":[],"subString":"*","subVersion":"1574330400000",'
    b'"tagsSet":[],"topic":"t"}],"unitMode":"false"}],"producerDataSet":[{"groupName":5}]}\n'
)
"""Heartbeat of a client in C++: enums as ordinals, numbers as text."""


def test_clients_in_cpp_consume(broker: AdminBroker) -> None:
    answer = broker.ask(RequestCode.HEART_BEAT, None, CPP % 1)
    assert (answer.code, answer.remark) == (0, None)
    assert members(broker, "g") == ["10.0.0.1@7"]
    group = broker.broker.clients.consumer_groups["g"]
    assert (group.consume_type, group.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert group.consume_from_where == "CONSUME_FROM_LAST_OFFSET"
    assert "5" in broker.broker.clients.producer_groups
    code, remark = broker.refusal(RequestCode.HEART_BEAT, None, CPP % 3)
    assert (code, remark) == (1, "the member messageModel of ConsumerData has a wrong type")


def test_heartbeat_creates_the_group_and_its_retry_topic(broker: AdminBroker) -> None:
    broker.heart_beat(FakePeer(ONE), consumer("g", "t", unit_mode=True))
    assert broker.broker.tables.groups.get("g") is not None
    topic = broker.broker.tables.topics.get("%RETRY%g")
    assert topic is not None
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_sys_flag) == (1, 1, 6, 2)


def test_group_that_may_not_be_created_is_skipped() -> None:
    broker = AdminBroker(options={"auto_create_subscription_group": False})
    assert broker.heart_beat(FakePeer(ONE), consumer("g", "t"), producers=("p",)).code == 0
    assert broker.broker.clients.consumer_groups == {}
    assert "p" in broker.broker.clients.producer_groups


def test_pull_consumers_are_rejected_if_configured() -> None:
    broker = AdminBroker(options={"reject_pull_consumer_enable": True})
    broker.heart_beat(FakePeer(ONE), consumer("g", "t", consume_type="CONSUME_ACTIVELY"), consumer("h", "t"))
    assert set(broker.broker.clients.consumer_groups) == {"h"}


def test_producers_are_not_registered_without_transactions_and_table() -> None:
    broker = AdminBroker(options={"enable_register_producer": False, "reject_transaction_message": True})
    broker.heart_beat(FakePeer(ONE), producers=("p",))
    assert broker.broker.clients.producer_groups == {}


def test_heartbeat_v2_omits_subscriptions(broker: AdminBroker) -> None:
    peer = FakePeer(ONE)
    full = broker.heart_beat(peer, consumer("g", "t"), heartbeat_fingerprint=7)
    assert full.ext["IS_SUB_CHANGE"] == "false"
    short = broker.heart_beat(peer, consumer("g"), heartbeat_fingerprint=7, without_sub=True)
    assert short.ext["IS_SUB_CHANGE"] == "false"
    assert broker.broker.clients.subscription("g", "t") is not None
    other = broker.heart_beat(FakePeer(TWO), consumer("g"), heartbeat_fingerprint=8, without_sub=True)
    assert other.ext["IS_SUB_CHANGE"] == "true"


def test_lost_connection_ends_memberships_at_once_and_locks_later(broker: AdminBroker) -> None:
    """Its client may still process pulled messages; no other client may lock the queue for a while."""
    peer = FakePeer(ONE)
    broker.heart_beat(peer, consumer("g", "t"), producers=("p",), client_id="me")
    now = broker.clock.millis()
    broker.broker.clients.locks.lock("g", "me", [MessageQueue("t", "broker-a", 0)], now)
    peer.lose()
    assert broker.broker.clients.locks.any_live("g", now + ORPHAN_LIFE_MILLIS)
    assert not broker.broker.clients.locks.any_live("g", now + ORPHAN_LIFE_MILLIS + 1)
    assert broker.broker.clients.consumer_groups == {}
    assert broker.broker.clients.producer_groups == {}


def test_unregistration_ends_memberships_and_releases_queue_locks(broker: AdminBroker) -> None:
    peer = FakePeer(ONE)
    broker.heart_beat(peer, consumer("g", "t"), consumer("h", "t"), producers=("p",), client_id="me")
    now = broker.clock.millis()
    assert broker.broker.clients.locks.lock("g", "me", [MessageQueue("t", "broker-a", 0)], now)
    header = UnregisterClientRequestHeader(client_id="me", producer_group="p", consumer_group="g")
    assert broker.ask(RequestCode.UNREGISTER_CLIENT, header, peer=peer).code == 0
    assert set(broker.broker.clients.consumer_groups) == {"h"}
    assert broker.broker.clients.producer_groups == {}
    assert not broker.broker.clients.locks.any_live("g", now)
    again = UnregisterClientRequestHeader(client_id="me")
    assert broker.ask(RequestCode.UNREGISTER_CLIENT, again, peer=peer).code == 0


def test_group_without_members_has_no_list(broker: AdminBroker) -> None:
    header = GetConsumerListByGroupRequestHeader(consumer_group="g")
    assert broker.refusal(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header) == (
        ResponseCode.SYSTEM_ERROR,
        "no consumer for this group, g",
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_groups_per_client": 1}, "maxGroupsPerClient"),
        ({"max_subscriptions_per_group": 1}, "maxSubscriptionsPerGroup"),
        ({"max_groups_online": 1}, "maxGroupsOnline"),
        ({"max_heartbeat_body_size": 10}, "maxHeartbeatBodySize"),
        ({"max_name_length": 3}, "3 characters"),
        ({"max_subscription_text": 3}, "maxSubscriptionText"),
    ],
)
def test_registrations_of_a_client_are_limited(options: dict[str, int], words: str) -> None:
    broker = AdminBroker(options=options)
    answer = broker.heart_beat(FakePeer(ONE), consumer("g", "t", "u"), producers=("p",))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert words in (answer.remark or "")


def test_tags_of_a_subscription_are_limited() -> None:
    broker = AdminBroker(options={"max_tags_per_subscription": 2})
    for expression, code in (("a || b", 0), ("a || b || c", ResponseCode.SYSTEM_ERROR)):
        reported = ConsumerData("g", subscription_data_set=[subscription("t", expression)])
        assert broker.heart_beat(FakePeer(ONE), reported).code == code


def test_malformed_heartbeat_is_refused(broker: AdminBroker) -> None:
    answer = broker.ask(RequestCode.HEART_BEAT, body=b"{oh", peer=FakePeer(ONE))
    assert answer.code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize("expression_type", ["TAG", None])
def test_tag_subscription_is_accepted(broker: AdminBroker, expression_type: str | None) -> None:
    wanted = SubscriptionData(topic="t", sub_string="a || b", expression_type=expression_type)
    body = CheckClientRequestBody(client_id="me", group="g", subscription_data=wanted).encode()
    assert broker.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body).code == 0
    assert broker.ask(RequestCode.CHECK_CLIENT_CONFIG, body=CheckClientRequestBody().encode()).code == 0


def test_other_expression_types_are_refused(broker: AdminBroker) -> None:
    wanted = SubscriptionData(topic="t", sub_string="a > 1", expression_type="SQL92")
    body = CheckClientRequestBody(client_id="me", group="g", subscription_data=wanted).encode()
    assert broker.refusal(RequestCode.CHECK_CLIENT_CONFIG, body=body) == (
        ResponseCode.SYSTEM_ERROR,
        NO_SQL,
    )


@pytest.mark.parametrize(
    ("expression", "kind", "remark"),
    [
        ("a > 1", "SQL92", None),
        ("a >", "SQL92", 'org.apache.rocketmq.filter.parser.ParseException: Encountered "<EOF>" at line 1, '),
        ("a > 1", "XPATH", "expressions of type XPATH are not known"),
        (None, "SQL92", "there is no expression"),
    ],
)
def test_expression_is_compiled_if_allowed(expression: str | None, kind: str, remark: str | None) -> None:
    broker = AdminBroker(options={"enable_property_filter": True})
    wanted = SubscriptionData(topic="t", sub_string=expression, expression_type=kind)
    body = CheckClientRequestBody(client_id="me", group="g", subscription_data=wanted).encode()
    answer = broker.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body)
    assert answer.code == (ResponseCode.SUBSCRIPTION_PARSE_FAILED if remark else 0)
    assert (answer.remark or "").startswith(remark or "")


def test_expressions_are_removed_with_their_group(broker: AdminBroker) -> None:
    peer = FakePeer(ONE)
    by_expression = consumer("g", subscription_data_set=[subscription("t", "a > 1", 1, "SQL92")])
    broker.heart_beat(peer, by_expression, heartbeat_fingerprint=7)
    data = broker.broker.tables.filters.get("t", "g")
    assert data is not None
    assert (data.expression.text, data.is_dead) == ("a > 1", False)
    broker.heart_beat(peer, consumer("g"), heartbeat_fingerprint=7, without_sub=True)
    assert not data.is_dead
    peer.lose()
    assert data.is_dead


def test_bad_expression_does_not_invalidate_the_heartbeat(broker: AdminBroker) -> None:
    bad = consumer("g", subscription_data_set=[subscription("t", "a >", 1, "SQL92")])
    assert broker.heart_beat(FakePeer(ONE), bad, consumer("h", "t"), producers=("p",)).code == 0
    assert broker.broker.tables.filters.get("t", "g") is None
    assert members(broker, "g") and members(broker, "h")


def test_heartbeat_of_a_client_in_no_group_is_accepted(broker: AdminBroker) -> None:
    assert broker.ask(RequestCode.HEART_BEAT, body=HeartbeatData(client_id="me").encode()).code == 0


def test_operations_need_no_command(broker: AdminBroker) -> None:
    peer = FakePeer(ONE)
    heartbeat = HeartbeatData("me", [ProducerData("p")], [consumer("g", "t")], heartbeat_fingerprint=7)
    steps = heartbeats.heart_beat(
        broker.broker, peer, heartbeat, lambda name: GroupClient(peer, name, "RUST", 513)
    )
    assert run(steps) is False
    assert heartbeats.consumer_ids(broker.broker, "g") == ["me"]
    assert broker.broker.clients.producer("me") is not None
    heartbeats.unregister_producer(broker.broker, peer, "p")
    heartbeats.unregister_consumer(broker.broker, peer, "me", "g")
    with pytest.raises(OperationError) as refused:
        heartbeats.consumer_ids(broker.broker, "g")
    assert refused.value.reason is Reason.SYSTEM_ERROR
    assert broker.broker.clients.producer("me") is None


def test_client_lost_during_its_heartbeat_is_not_registered(broker: AdminBroker) -> None:
    peer = FakePeer(ONE)
    heartbeat = HeartbeatData("me", consumer_data_set=[consumer("g", "t"), consumer("h", "t")])
    steps = heartbeats.heart_beat(
        broker.broker, peer, heartbeat, lambda name: GroupClient(peer, name, "RUST", 513)
    )
    next(steps)
    peer.lose()
    assert run(steps) is None
    assert broker.broker.clients.consumer_groups == {}


def test_subscription_is_checked(broker: AdminBroker) -> None:
    heartbeats.check_subscription(broker.broker, subscription("t", "a || b"))
    with pytest.raises(OperationError) as refused:
        heartbeats.check_subscription(broker.broker, SubscriptionData("t", "a > 1", expression_type="SQL92"))
    assert refused.value.reason is Reason.SYSTEM_ERROR
