"""From the bytes of a pull reply to messages."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.message import Message as Stored
from mqgateway.engine.message import SysFlag, format_properties, pack_host
from mqgateway.engine.store.record import encode, record_size, topic_field
from mqgateway.gateway.client.batches import encode_element
from mqgateway.gateway.client.compression import Compression, compress
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.reading import read_messages, wanted

HOST = pack_host("10.0.0.1", 10911)


def record(body: bytes, offset: int = 0, sys_flag: int = 0, **properties: str) -> bytes:
    message = Stored("T", 1, body, {}, 5, HOST, HOST, sys_flag=sys_flag, reconsume_times=2)
    text = format_properties(properties).encode()
    topic = topic_field("T", False)
    size = record_size(sys_flag, len(body), len(topic[1]), len(text))
    return encode(message, body, text, topic, size, sys_flag, 9, offset, 4096 + offset, 6)


def test_records_lie_back_to_back() -> None:
    messages = read_messages(record(b"a", 3) + record(b"b", 4, TAGS="X"), "broker-a")
    assert [(one.body, one.queue_offset, one.tags) for one in messages] == [(b"a", 3, None), (b"b", 4, "X")]
    assert messages[0].queue.broker_name == "broker-a" and messages[0].reconsume_times == 2


@pytest.mark.parametrize("kind", list(Compression))
def test_bodies_are_made_whole(kind: Compression) -> None:
    body = b"again and " * 100
    (message,) = read_messages(record(compress(body, kind, 5), sys_flag=kind.flag), "b")
    assert message.body == body


def test_a_batch_in_one_record_is_taken_apart() -> None:
    inner = b"".join(encode_element(Message("T", f"{n}", tags=f"tag{n}")) for n in range(3))
    flag = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
    messages = read_messages(record(inner, 10, flag, UNIQ_KEY="B") + record(b"after", 13), "b")
    assert [(one.body, one.queue_offset) for one in messages] == [
        (b"0", 10),
        (b"1", 11),
        (b"2", 12),
        (b"after", 13),
    ]
    assert [one.tags for one in messages] == ["tag0", "tag1", "tag2", None]


def test_what_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    flag = Compression.ZLIB.flag
    with caplog.at_level(logging.WARNING):
        messages = read_messages(record(b"broken", 0, flag) + record(b"good", 1), "b")
    assert [one.body for one in messages] == [b"good"]
    assert "offset 0 is left out" in caplog.text


def test_bytes_that_are_no_record_end_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(read_messages(record(b"good") + b"\0" * 100, "b")) == 1
        assert len(read_messages(record(b"good") + b"end", "b")) == 1
    assert "begins no record" in caplog.text and "3 bytes" in caplog.text


def test_tags_are_compared_as_text() -> None:
    messages = read_messages(record(b"a", TAGS="AaAa") + record(b"b", 1, TAGS="BBBB") + record(b"c", 2), "b")
    assert [one.body for one in wanted(messages, ["AaAa"], 0, 7)] == [b"a"]
    everything = wanted(messages, [], 2, 7)
    assert len(everything) == 3
    assert everything[0].properties["MIN_OFFSET"] == "2" and everything[0].properties["MAX_OFFSET"] == "7"
