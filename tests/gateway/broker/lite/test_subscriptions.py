"""200071: clients say which lite topics they read."""

from dataclasses import replace

import pytest

from mqgateway.gateway.codec.bodies.lite import LiteSubscriptionCtlRequestBody
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.broker.lite import LiteBroker, queue


def read_by(broker: LiteBroker, client_id: str) -> set[str]:
    own = broker.broker.lite.subscriptions.of(client_id)
    return set() if own is None else {name.rpartition("$")[2] for name in own.queues}


def test_the_four_actions() -> None:
    broker = LiteBroker()
    assert broker.control("PARTIAL_ADD", "a", "b").code == 0
    assert read_by(broker, "c1") == {"a", "b"}
    broker.control("PARTIAL_REMOVE", "a")
    assert read_by(broker, "c1") == {"b"}
    broker.control("COMPLETE_ADD", "c")
    assert read_by(broker, "c1") == {"c"}
    broker.control("COMPLETE_REMOVE")
    assert broker.broker.lite.subscriptions.of("c1") is None


@pytest.mark.parametrize(
    ("body", "code", "remark"),
    [
        (b"", 604, "Request body is null."),
        (LiteSubscriptionCtlRequestBody().encode(), 604, "LiteSubscriptionCtlRequestBody is empty."),
        (
            b'{"subscriptionSet":[{"action":"JUMP","clientId":"c","group":"G","topic":"chat"}]}',
            1,
            "the member action of LiteSubscription is null",
        ),
        (
            b'{"subscriptionSet":[{"action":"PARTIAL_ADD","clientId":" ","group":"G","topic":"chat"}]}',
            0,
            None,
        ),
    ],
)
def test_incomplete_bodies_are_refused(body: bytes, code: int, remark: str | None) -> None:
    answer = LiteBroker().ask(RequestCode.LITE_SUBSCRIPTION_CTL, None, body)
    assert (answer.code, answer.remark) == (code, remark)


def test_a_group_that_may_not_consume_and_one_of_wildcards() -> None:
    broker = LiteBroker()
    broker.bind("off")
    broker.broker.tables.groups.disable_consume("off")
    refused = broker.control("COMPLETE_ADD", "a", group="off")
    why = "java.lang.IllegalStateException: Consumer group is not allowed to consume."
    assert (refused.code, refused.remark) == (604, why)
    broker.bind("W", wildcard="true")
    refused = broker.control("PARTIAL_ADD", "a", group="W")
    why = "java.lang.IllegalStateException: subscribe lite operation is not supported for this group"
    assert (refused.code, refused.remark) == (604, why)


def test_the_quota_and_names_that_are_too_long() -> None:
    broker = LiteBroker(options={"max_lite_subscription_count": 1})
    broker.control("PARTIAL_ADD", "a")
    refused = broker.control("PARTIAL_ADD", "b")
    assert refused.code == 2018
    why = "org.apache.rocketmq.broker.lite.LiteQuotaException: lite subscription quota exceeded 1"
    assert refused.remark == why
    assert broker.control("PARTIAL_ADD", "x" * 99_999).code == 1


def test_lite_topics_of_other_brokers_are_skipped_unless_stored_here() -> None:
    broker = LiteBroker()
    route_cache = broker.broker.lite.route_cache
    broker.post("far", b"1")
    other = [replace(one, broker_name="broker-b") for one in route_cache._own("chat") or ()]
    route_cache._known["chat"] = other
    broker.control("PARTIAL_ADD", "far", "near")
    assert read_by(broker, "c1") == {"far"}


def test_client_that_loses_a_lite_topic_to_another_is_notified() -> None:
    broker = LiteBroker()
    broker.bind("E", model="Exclusive")
    first = FakePeer("10.0.0.7:7")
    broker.control("PARTIAL_ADD", "a", group="E", peer=first)
    broker.control("PARTIAL_ADD", "a", group="E", client_id="c2")
    (command,) = first.sent
    assert command.code == RequestCode.NOTIFY_UNSUBSCRIBE_LITE and command.is_oneway
    assert command.ext_fields == {"liteTopic": "a", "consumerGroup": "E", "clientId": "c1"}
    assert broker.broker.lite.subscriptions.readers(queue("a")).keys() == {"E"}
