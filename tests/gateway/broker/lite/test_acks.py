"""Acknowledging messages of lite topics, and hiding them longer."""

from typing import Any

import pytest

from mqgateway.engine.message import StoredMessage
from tests.support.gateway.broker.helpers import Answer
from tests.support.gateway.broker.lite import LiteBroker, queue


def popped(*bodies: bytes) -> tuple[LiteBroker, Answer, list[StoredMessage]]:
    """A broker whose client c1 was given these messages of lite topic a."""
    broker = LiteBroker()
    broker.control("PARTIAL_ADD", "a")
    broker.post("a", *bodies)
    answer = broker.ask_pop()
    return broker, answer, answer.messages


def committed(broker: LiteBroker) -> int:
    return broker.broker.tables.offsets.query("G", queue("a"), 0)


def test_group_advances_over_acknowledged_messages_without_gaps() -> None:
    broker, answer, (first, second) = popped(b"1", b"2")
    assert broker.ack(answer, second).code == 0
    assert committed(broker) == 0
    assert broker.ack(answer, first).code == 0
    assert committed(broker) == 2
    assert broker.ack(answer, first).code == 0


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"consumer_group": "other"}, 29, "group type or bind topic not match."),
        ({"offset": 3}, 208, "ack offset illegal."),
        ({"queue_id": 1}, 29, "ack queue illegal."),
        ({"extra_info": "0 1 2 3 0 broker-a"}, 29, "ack queue illegal."),
        ({"extra_info": "nonsense"}, 1, "the receipt cannot be read: a receipt has 6 fields, not 1"),
    ],
)
def test_refusals(fields: dict[str, Any], code: int, remark: str) -> None:
    broker, answer, (first, _) = popped(b"1", b"2")
    refused = broker.ack(answer, first, **fields)
    assert (refused.code, refused.remark) == (code, remark)


def test_ack_of_a_message_not_in_flight_is_refused() -> None:
    broker, answer, (first, _) = popped(b"1", b"2")
    refused = broker.ack(answer, first, offset=2)
    assert (refused.code, refused.remark) == (13, "ack offset illegal.")


def test_message_can_be_made_visible_sooner() -> None:
    broker, answer, (first,) = popped(b"1")
    changed = broker.change(answer, first, 3_000)
    assert (changed.code, changed.ext["invisibleTime"], changed.ext["reviveQid"]) == (0, "3000", "999")
    broker.wait(2_999)
    assert broker.pop() == []
    broker.wait(1)
    again = broker.ask_pop()
    assert (again.ext["orderCountInfo"], len(again.messages)) == ("0 qo0%0 1", 1)


def test_lite_topic_can_be_suspended_without_counting_the_delivery() -> None:
    broker, answer, (first, _) = popped(b"1", b"2")
    broker.wait(10_000)
    answer = broker.ask_pop()
    assert broker.change(answer, first, 60_000, suspend=True).code == 0
    broker.wait(59_000)
    assert broker.pop() == []
    broker.wait(1_000)
    assert broker.ask_pop().ext["orderCountInfo"] == "0 qo0%0 1;0 qo0%1 1"


def test_late_or_unknown_changes_have_no_effect() -> None:
    broker, answer, (first,) = popped(b"1")
    assert broker.change(answer, first, 1, offset=2).code == 208
    broker.ack(answer, first)
    late = broker.change(answer, first, 1)
    assert (late.code, "no longer current" in (late.remark or "")) == (208, True)
