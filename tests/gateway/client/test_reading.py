"""From the bytes of a pull reply to messages."""

from __future__ import annotations

import logging
import struct
from random import Random

import pytest

from mqgateway.engine.message import Message as Stored
from mqgateway.engine.message import SysFlag, format_properties, pack_host
from mqgateway.engine.store.record import encode, examine, record_size, topic_field
from mqgateway.gateway.client.batches import encode_element
from mqgateway.gateway.client.compression import Compression, compress
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.reading import bounds, read_messages, read_record, wanted

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
def test_bodies_are_inflated(kind: Compression) -> None:
    body = b"again and " * 100
    (message,) = read_messages(record(compress(body, kind, 5), sys_flag=kind.flag), "b")
    assert message.body == body


def test_batch_in_one_record_is_split() -> None:
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


def test_unreadable_messages_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
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
    body = record(b"a", TAGS="AaAa") + record(b"b", 1, TAGS="BBBB") + record(b"c", 2)
    messages = read_messages(body, "b", bounds(2, 7))
    assert [one.body for one in wanted(messages, ["AaAa"])] == [b"a"]
    everything = wanted(messages, [])
    assert len(everything) == 3
    assert everything[0].properties == {"TAGS": "AaAa", "MIN_OFFSET": "2", "MAX_OFFSET": "7"}


def plainly(body: bytes, ends: dict[str, str]) -> list[ReceivedMessage]:
    """As `read_messages`, by `examine` and `decode` alone."""
    messages: list[ReceivedMessage] = []
    at = 0
    while at < len(body) and len(body) - at >= 36:
        (position,) = struct.unpack_from(">q", body, at + 28)
        size = examine(body, at, position, check_crc=False)
        if not isinstance(size, int) or not size:
            break
        for message in read_record(body, "b", at):
            message.properties.update(ends)
            messages.append(message)
        at += size
    return messages


def fields(message: ReceivedMessage) -> list[object]:
    """All that there is to know of a message."""
    hidden = ("_added", "_text", "_properties")
    names = (*(name for name in ReceivedMessage.__slots__ if name not in hidden), "topic", "body", "flag")
    return [message.properties, *(getattr(message, name) for name in names)]


def test_the_quick_reading_is_the_plain_one() -> None:
    """Of good records, and of ones with any byte changed."""
    v6 = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
    good = (
        record(b"first", 3, TAGS="X", KEYS="k")
        + record(b"", 4)
        + record(compress(b"again " * 9, Compression.ZLIB, 5), 5, Compression.ZLIB.flag)
        + record(b"last", 6)
    )
    ends = bounds(0, 7)
    choose = Random(25)
    bodies = [good, good.replace(b"\0\0\0\t", struct.pack(">i", v6), 1)]
    for _ in range(3000):
        changed = bytearray(good)
        changed[choose.randrange(len(good))] = choose.choice((0, 1, 127, 128, 255, choose.randrange(256)))
        bodies.append(bytes(changed[: choose.choice((len(good), choose.randrange(len(good))))]))
    for body in bodies:
        quick, plain = read_messages(body, "b", ends), plainly(body, ends)
        assert list(map(fields, quick)) == list(map(fields, plain))
