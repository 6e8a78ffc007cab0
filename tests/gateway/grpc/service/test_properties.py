"""A client's message is stored and read back unchanged; refusals; properties that are not returned."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.message import StoredMessage, format_properties, pack_host, parse_properties
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.properties import (
    NOT_SHOWN,
    OF_THE_BROKER,
    SendContext,
    message_type_of,
    received_message,
    resource,
    stored_properties,
)
from mqgateway.gateway.grpc.service.status import CallRefused
from tests.support.gateway.grpc.messaging import message

NOW = 1_700_000_000_000
SENDING = SendContext(NOW, "10.0.0.9:5000", (1000, 5000))
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=20)
WORD = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20)


def stored(properties: dict[str, str], body: bytes = b"a", **fields: Any) -> StoredMessage:
    """A message as the log has it: properties went through their text."""
    kept = parse_properties(format_properties(properties))
    host = pack_host("127.0.0.1", 10911)
    one = StoredMessage("T", 1, body, kept, NOW - 5, host, host, 0, 0, fields.get("turns", 0))
    one.queue_offset, one.physical_offset, one.store_timestamp, one.size = 7, 100, NOW, 200
    one.body_crc = 0
    return one


def back(properties: dict[str, str], **fields: Any) -> v2.Message:
    """Return the message as a client gets it."""
    return received_message(stored(properties, **fields), NOW, 1 << 20)


@settings(max_examples=200)
@given(
    user=st.dictionaries(WORD.filter(lambda name: name not in OF_THE_BROKER), TEXT, max_size=5),
    tag=st.none() | TEXT.filter(lambda tag: tag.strip() and "|" not in tag),
    keys=st.lists(WORD, max_size=3),
    message_id=TEXT.filter(str.strip),
    group=st.none() | WORD,
    trace=st.none() | TEXT,
    born=st.integers(0, 253_402_300_799),
    due=st.none() | st.integers(1, NOW // 1000 + 86_400),
    priority=st.none() | st.integers(0, 2**31 - 1),
    lite=st.none() | WORD,
)
def test_a_message_comes_back_as_it_was_sent(
    user: dict[str, str],
    tag: str | None,
    keys: list[str],
    message_id: str,
    group: str | None,
    trace: str | None,
    born: int,
    due: int | None,
    priority: int | None,
    lite: str | None,
) -> None:
    sent = message(
        user=user,
        tag=tag,
        keys=keys,
        message_id=message_id,
        message_group=group,
        trace_context=trace,
        born_timestamp=v2.Timestamp(seconds=born),
        delivery_timestamp=None if due is None else v2.Timestamp(seconds=due),
        priority=priority,
        lite_topic=lite,
    )
    properties = stored_properties(sent, BrokerOptions(), SENDING)
    assert properties["BORN_TIMESTAMP"] == str(born * 1000)
    got = back(properties)
    assert dict(got.user_properties) == user
    was, now = sent.system_properties, got.system_properties
    for name in ("tag", "message_group", "trace_context", "priority", "lite_topic", "delivery_timestamp"):
        assert was.HasField(name) == now.HasField(name), name
        assert getattr(was, name) == getattr(now, name), name
    assert list(now.keys) == keys
    assert (now.message_id, now.born_host) == (message_id, "10.0.0.9:5000")
    assert now.message_type == message_type_of(properties)


def test_no_property_of_the_broker_is_shown_to_users() -> None:
    shown = dict.fromkeys(NOT_SHOWN, "1") | {"mine": "2"}
    assert dict(back(shown).user_properties) == {"mine": "2"}


@pytest.mark.parametrize("name", sorted(OF_THE_BROKER))
def test_users_set_no_property_of_the_broker(name: str) -> None:
    with pytest.raises(CallRefused) as refused:
        stored_properties(message(user={name: "1"}), BrokerOptions(), SENDING)
    assert refused.value.code == v2.Code.ILLEGAL_MESSAGE_PROPERTY_KEY


@pytest.mark.parametrize(
    "system",
    [
        {"message_id": "a\x02TAGS\x01b"},
        {"trace_context": "a\x02TAGS\x01b"},
        {"born_host": "a\x02TAGS\x01b"},
        {"delivery_timestamp": v2.Timestamp(seconds=2**62)},
    ],
)
def test_ambiguous_values_are_refused(system: dict[str, Any]) -> None:
    with pytest.raises(CallRefused):
        stored_properties(message(**system), BrokerOptions(max_delay_time_mills=0), SENDING)


def test_a_message_that_does_not_say_when_it_was_born_is_born_now() -> None:
    for born in (None, v2.Timestamp(seconds=2**62)):
        properties = stored_properties(message(born_timestamp=born), BrokerOptions(), SENDING)
        assert properties["BORN_TIMESTAMP"] == str(NOW)


@pytest.mark.parametrize("ahead,level", [(0, "1"), (2, "2"), (3600, "2")])
def test_delays_by_levels(ahead: int, level: str) -> None:
    options = BrokerOptions(use_delay_level=True)
    due = v2.Timestamp(seconds=NOW // 1000 + ahead)
    assert stored_properties(message(delivery_timestamp=due), options, SENDING)["DELAY"] == level


def test_a_transaction_and_its_time() -> None:
    asked = message(
        message_type=v2.MessageType.TRANSACTION,
        orphaned_transaction_recovery_duration=v2.Duration(seconds=30),
    )
    properties = stored_properties(asked, BrokerOptions(), SENDING)
    assert (properties["TRAN_MSG"], properties["CHECK_IMMUNITY_TIME_IN_SECONDS"]) == ("true", "30")
    assert message_type_of(properties) == v2.MessageType.TRANSACTION


def test_a_message_of_a_remoting_producer() -> None:
    got = back({"TIMER_DELAY_SEC": "60", "KEYS": "a b "}, turns=2).system_properties
    assert got.message_id == "7F00000100002A9F0000000000000064", "without a key it is the broker's id"
    assert (got.born_host, got.store_host) == ("127.0.0.1", "127.0.0.1:10911")
    assert (got.delivery_attempt, got.queue_id, got.queue_offset) == (3, 1, 7)
    assert got.delivery_timestamp == v2.Timestamp(seconds=NOW // 1000 + 60)
    assert list(got.keys) == ["a", "b"]
    assert not got.HasField("tag") and not got.HasField("receipt_handle")


def test_a_dead_letter_says_where_it_is_from() -> None:
    got = back({"DLQ_ORIGIN_TOPIC": "T", "DLQ_ORIGIN_MESSAGE_ID": "K"}).system_properties
    assert got.dead_letter_queue == v2.DeadLetterQueue(topic="T", message_id="K")


@pytest.mark.parametrize(
    "name,namespace,rest",
    [
        ("T", "", "T"),
        ("ns%T", "ns", "T"),
        ("%RETRY%ns%G", "ns", "%RETRY%G"),
        ("%DLQ%G", "", "%DLQ%G"),
        ("%T", "", "%T"),
        ("ns%", "", "ns%"),
    ],
)
def test_a_name_and_its_namespace(name: str, namespace: str, rest: str) -> None:
    assert resource(name) == v2.Resource(resource_namespace=namespace, name=rest)
