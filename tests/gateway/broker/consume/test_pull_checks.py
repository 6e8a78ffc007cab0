"""The checks of a pull and its filter, called directly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mqgateway.engine.message import java_hash
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.broker.consume.pull_checks import (
    check_pull_consumer,
    checked_group,
    checked_queue,
    wanted_by,
)
from mqgateway.gateway.broker.consume.pull_request import ForbiddenType, PullForbidden
from mqgateway.gateway.broker.errors import OperationError, Reason
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker
from tests.support.gateway.broker.pulls import pull_request


@pytest.fixture
def memory() -> MemoryBroker:
    memory = MemoryBroker()
    memory.add_topic("T")
    memory.subscribe("G", "T")
    return memory


def reason_of(check: Callable[[], object]) -> Reason | ForbiddenType:
    with pytest.raises(OperationError) as refusal:
        check()
    error = refusal.value
    return error.kind if isinstance(error, PullForbidden) else error.reason


def test_broker_and_group_must_allow_it(memory: MemoryBroker) -> None:
    broker, request, lite = memory.broker, pull_request(), pull_request(is_lite=True)
    assert checked_group(broker, request).group_name == "G"
    memory.options.lite_pull_message_enable = False
    assert reason_of(lambda: checked_group(broker, lite)) is ForbiddenType.BROKER_FORBIDDEN
    broker.tables.groups.put(SubscriptionGroupConfig("G", consume_enable=False))
    assert reason_of(lambda: checked_group(broker, request)) is ForbiddenType.GROUP_FORBIDDEN
    memory.options.broker_permission = PERM_WRITE
    assert reason_of(lambda: checked_group(broker, request)) is ForbiddenType.BROKER_FORBIDDEN
    memory.options.broker_permission = 6
    memory.options.auto_create_subscription_group = False
    other = pull_request(group="other")
    assert reason_of(lambda: checked_group(broker, other)) is Reason.SUBSCRIPTION_GROUP_NOT_EXIST


def test_the_topic_must_have_the_queue_and_be_readable(memory: MemoryBroker) -> None:
    broker, peer = memory.broker, FakePeer()
    assert checked_queue(broker, pull_request(), peer).topic_name == "T"
    other, beyond = pull_request(topic="other"), pull_request(queue_id=99)
    assert reason_of(lambda: checked_queue(broker, other, peer)) is Reason.TOPIC_NOT_EXIST
    assert reason_of(lambda: checked_queue(broker, beyond, peer)) is Reason.INVALID_PARAMETER
    memory.add_topic("W", perm=PERM_WRITE)
    assert (
        reason_of(lambda: checked_queue(broker, pull_request(topic="W"), peer))
        is ForbiddenType.TOPIC_FORBIDDEN
    )


def test_filter_comes_from_the_request_or_the_last_heartbeat(memory: MemoryBroker) -> None:
    group = SubscriptionGroupConfig("G")
    assert wanted_by(memory.broker, pull_request(expression="a || b"), group) == {
        java_hash("a"),
        java_hash("b"),
    }
    assert wanted_by(memory.broker, pull_request(is_subscribed=True), group) is None
    wrong = pull_request(expression_type="SQL92", expression="a >")
    memory.options.enable_property_filter = True
    assert reason_of(lambda: wanted_by(memory.broker, wrong, group)) is Reason.SUBSCRIPTION_PARSE_FAILED
    newer = pull_request(is_subscribed=True, subscription_version=2**62)
    assert reason_of(lambda: wanted_by(memory.broker, newer, group)) is Reason.SUBSCRIPTION_NOT_LATEST
    unknown = pull_request(is_subscribed=True, group="other")
    assert reason_of(lambda: wanted_by(memory.broker, unknown, group)) is Reason.SUBSCRIPTION_NOT_EXIST


def test_strangers_may_not_pull_where_that_is_said(memory: MemoryBroker) -> None:
    check_pull_consumer(memory.broker, pull_request(), FakePeer())
    check_pull_consumer(memory.broker, pull_request(group="CID_RMQ_SYS_x"), FakePeer())
    other = pull_request(group="other")
    check = reason_of(lambda: check_pull_consumer(memory.broker, other, FakePeer()))
    assert check is Reason.SUBSCRIPTION_NOT_EXIST
