"""Refusals before any message is read."""

import pytest

from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.pop.checks import checked_group, checked_topic, wanted_by
from tests.support.gateway.broker.pop import PopBroker


def test_filter_of_an_expression() -> None:
    broker = PopBroker().broker
    assert wanted_by(broker, "T", None, None) is None
    assert wanted_by(broker, "T", "*", "TAG") is None
    assert isinstance(wanted_by(broker, "T", "a || b", None), frozenset)
    with pytest.raises(OperationError) as refused:
        wanted_by(broker, "T", "a", "GROOVY")
    assert refused.value.reason is Reason.SUBSCRIPTION_PARSE_FAILED


def test_topic_must_exist_be_readable_and_have_the_queue() -> None:
    popped = PopBroker()
    popped.add_topic("write-only", perm=2)
    broker, client = popped.broker, popped.consumer
    assert checked_topic(broker, client, "T", 3).topic_name == "T"
    for topic, queue_id, reason, sentence in [
        ("U", 0, Reason.TOPIC_NOT_EXIST, r"topic\[U\] not exist"),
        ("write-only", 0, Reason.NO_PERMISSION, "peeking message is forbidden"),
        ("T", 4, Reason.INVALID_PARAMETER, r"queueId\[4\] is illegal.*consumer:\[/10.0.0.2:4002\]"),
    ]:
        with pytest.raises(OperationError, match=sentence) as refused:
            checked_topic(broker, client, topic, queue_id)
        assert refused.value.reason is reason


def test_a_group_may_consume() -> None:
    broker = PopBroker().broker
    assert checked_group(broker, "G").group_name == "G"
    broker.tables.groups.disable_consume("G")
    with pytest.raises(OperationError, match="no permission, G") as refused:
        checked_group(broker, "G")
    assert refused.value.reason is Reason.NO_PERMISSION
