"""Changes that a slave leaves to the leader; each has an answer for every part of the request."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import alter_configs_request as altering
from mqgateway.gateway.kafka.codec.messages import incremental_alter_configs_request as incremental
from mqgateway.gateway.kafka.codec.messages.create_delegation_token_request import (
    CreateDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from mqgateway.gateway.kafka.codec.messages.expire_delegation_token_request import (
    ExpireDelegationTokenRequest,
)
from mqgateway.gateway.kafka.codec.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from mqgateway.gateway.kafka.codec.schema import Message
from tests.support.gateway.kafka.broker import KafkaBroker

TOPIC, BROKER = 2, 4


@pytest.fixture(scope="module")
def slave() -> KafkaBroker:
    """Return a broker that has become a slave."""
    kafka = KafkaBroker()
    kafka.broker.role.become(RoleKind.SLAVE, broker_id=1)
    return kafka


@pytest.mark.parametrize(
    ("request_", "results", "count"),
    [
        (CreateTopicsRequest(topics=[CreatableTopic("a", 1, 1), CreatableTopic("b", 1, 1)]), "topics", 2),
        (DeleteTopicsRequest(topics=[DeleteTopicState("orders")]), "responses", 1),
        (CreatePartitionsRequest([CreatePartitionsTopic("orders", 8)]), "results", 1),
        (altering.AlterConfigsRequest([altering.AlterConfigsResource(TOPIC, "orders")]), "responses", 1),
        (
            incremental.IncrementalAlterConfigsRequest([incremental.AlterConfigsResource(TOPIC, "orders")]),
            "responses",
            1,
        ),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Message) else "",
)
def test_slave_refuses_a_change(slave: KafkaBroker, request_: Message, results: str, count: int) -> None:
    answer: Any = slave.ask(request_)
    codes = [one.error_code for one in getattr(answer, results)]
    assert codes == [ErrorCode.NOT_CONTROLLER] * count


@pytest.mark.parametrize(
    "request_",
    [CreateDelegationTokenRequest(), RenewDelegationTokenRequest(), ExpireDelegationTokenRequest()],
    ids=lambda one: type(one).__name__,
)
def test_slave_refuses_changes_of_delegation_tokens(slave: KafkaBroker, request_: Message) -> None:
    answer: Any = slave.ask(request_)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


def test_slave_refuses_deletions_by_name(slave: KafkaBroker) -> None:
    [one] = slave.ask(DeleteTopicsRequest(topic_names=["orders"]), 5).responses
    assert (one.name, one.error_code) == ("orders", ErrorCode.NOT_CONTROLLER)


def test_slave_changes_its_own_settings(slave: KafkaBroker) -> None:
    resource = incremental.AlterConfigsResource(BROKER, "1")
    [one] = slave.ask(incremental.IncrementalAlterConfigsRequest([resource])).responses
    assert one.error_code == 0


def test_leader_makes_changes() -> None:
    [one] = KafkaBroker().ask(CreateTopicsRequest(topics=[CreatableTopic("a", 1, 1)])).topics
    assert one.error_code == 0
