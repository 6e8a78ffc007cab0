"""Messages: valid arguments, and received messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mqgateway.engine.message import StoredMessage, pack_host
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.codec.bodies import MessageQueue


def received(**properties: str) -> ReceivedMessage:
    host = pack_host("10.0.0.1", 10911)
    stored = StoredMessage("T", 2, b"raw", properties, 1, host, host, 7, 0, 3)
    stored.queue_offset, stored.physical_offset, stored.size = 11, 4096, 120
    stored.store_timestamp, stored.body_crc = 2, 0
    return ReceivedMessage.of(stored, b"whole", "broker-a")


def test_message_keeps_its_arguments() -> None:
    message = Message("T", "text", tags="A", keys=["k1", "k2"], properties={"own": "1"}, delay_level=3)
    assert (message.body, message.tags, message.keys) == (b"text", "A", ["k1", "k2"])
    assert (message.delay_level, message.waits_for_store, message.unique_key) == (3, True, None)
    assert message.properties["own"] == "1" and "5 bytes" not in repr(message)


def test_keys_in_one_text_are_split() -> None:
    assert Message("T", b"x", keys="k1 k2").keys == ["k1", "k2"]
    assert not Message("T", b"x", wait_store=False).waits_for_store
    assert Message("T", b"x", sharding_key="s").properties["__SHARDINGKEY"] == "s"


@pytest.mark.parametrize("wrong", [{"": "v"}, {"n": ""}, {"n": "a\x01b"}, {"n\x02": "v"}, {"n": 3}], ids=repr)
def test_properties_that_cannot_be_written_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(BadArgument):
        Message("T", b"x", properties=wrong)


@pytest.mark.parametrize(
    ("body", "hint"),
    [(5, r"not int: pass str\(body\)"), ({"a": 1}, r"not dict: pass json.dumps\(body\)"), (None, "NoneType")],
    ids=repr,
)
def test_a_body_of_another_kind_is_refused_with_what_to_pass(body: object, hint: str) -> None:
    with pytest.raises(TypeError, match=f"a body is bytes or text, {hint}" if hint[0] == "n" else hint):
        Message("T1", body)  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [bytearray(b"\0\xff"), memoryview(b"\0\xff"), "\0\xff".encode("latin-1")])
def test_body_may_be_any_bytes_like_object(body: bytes) -> None:
    assert Message("T", body).body == b"\0\xff" and type(Message("T", body).body) is bytes


@pytest.mark.parametrize("keys", [5, [1, 2]], ids=repr)
def test_keys_that_are_no_texts_are_refused(keys: object) -> None:
    with pytest.raises(TypeError, match="keys are text"):
        Message("T", b"x", keys=keys)  # type: ignore[arg-type]


def test_a_message_has_one_delay() -> None:
    with pytest.raises(BadArgument, match="one delay"):
        Message("T", b"x", delay_level=1, delay_millis=5)


def test_received_message_has_position_and_origin() -> None:
    message = received(UNIQ_KEY="KEY")
    assert message.queue == MessageQueue("T", "broker-a", 2)
    assert (message.queue_offset, message.physical_offset, message.store_size) == (11, 4096, 120)
    assert (message.message_id, message.offset_message_id[:8]) == ("KEY", "0A000001")
    assert (message.born_host, message.reconsume_times, message.flag) == ("10.0.0.1:10911", 3, 7)
    assert message.body == b"whole"
    assert received().message_id == received().offset_message_id


def test_reply_is_sent_to_the_requester() -> None:
    asked = received(CLUSTER="c", CORRELATION_ID="n", REPLY_TO_CLIENT="id", TTL="3000")
    reply = asked.reply("answer")
    assert (reply.topic, reply.body) == ("c_REPLY_TOPIC", b"answer")
    assert reply.properties["MSG_TYPE"] == "reply"
    assert [reply.properties[name] for name in ("CORRELATION_ID", "REPLY_TO_CLIENT", "TTL")] == [
        "n",
        "id",
        "3000",
    ]


def test_message_that_is_not_a_request_has_no_reply() -> None:
    with pytest.raises(BadArgument, match="asks for no reply"):
        received(CLUSTER="c").reply(b"x")


AWARE = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"delay_level": 18}, "DELAY", "18"),
        ({"delay_millis": timedelta(minutes=1.5)}, "TIMER_DELAY_MS", "90000"),
        ({"delay_millis": 5}, "TIMER_DELAY_MS", "5"),
        ({"deliver_at": AWARE}, "TIMER_DELIVER_MS", "1777636800000"),
        ({"deliver_at": 1_777_636_800_000}, "TIMER_DELIVER_MS", "1777636800000"),
    ],
    ids=repr,
)
def test_message_waits_for_a_level_a_duration_or_a_time(given: Any, name: str, value: str) -> None:
    assert Message("T", b"x", **given).properties[name] == value


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"delay_millis": -5}, "delay_millis=-5: must be from 0"),
        ({"delay_millis": timedelta(seconds=-5)}, "delay_millis=-5000"),
        ({"delay_millis": "5"}, "delay_millis='5'"),
        ({"delay_level": 99}, "delay_level=99: must be from 0 to 18"),
        ({"delay_level": -1}, "delay_level=-1"),
        ({"delay_level": True}, "delay_level=True"),
        ({"deliver_at": 1_777_636_800}, "deliver_at=1777636800: is not milliseconds.*seconds"),
        ({"deliver_at": datetime(2026, 5, 1)}, "deliver_at=.*has no time zone: pass"),
        ({"deliver_at": timedelta(seconds=5)}, "deliver_at=.*pass an aware datetime"),
        ({"flag": 2**31}, "flag=2147483648"),
        ({"properties": ["a"]}, "properties="),
        ({"properties": {5: "a"}}, "property 5 needs"),
        ({"wait_store": "no"}, "wait_store='no'"),
        ({"serializer": "json"}, "serializer='json'"),
        ({"serializer": lambda _: 5}, "it must return bytes or text, and returned int"),
    ],
    ids=lambda value: str(value)[:40].replace("0x", ""),
)
def test_wrong_argument_of_a_message_is_refused_when_it_is_made(given: Any, error: str) -> None:
    with pytest.raises(BadArgument, match=error):
        Message("T", b"x", **given)


def test_topic_of_a_message_is_text() -> None:
    with pytest.raises(BadArgument, match="topic=5: pass text"):
        Message(5, b"x")  # type: ignore[arg-type]


def test_serializer_makes_the_body_and_a_received_message_is_read_as_text_or_json() -> None:
    made = Message("T", {"grün": 1}, serializer=json.dumps)
    assert made.body == b'{"gr\\u00fcn": 1}'
    assert Message("T", [1, 2], serializer=bytes).body == b"\x01\x02"
    message = received()
    message.body = made.body
    assert message.json() == {"grün": 1} and message.text() == '{"gr\\u00fcn": 1}'
    message.body = b"\xff"
    with pytest.raises(UnicodeDecodeError):
        message.text()
    with pytest.raises(ValueError, match=r"."):
        message.json()
