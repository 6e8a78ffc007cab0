import zlib

import pytest

from mqgateway.engine.message import StoredMessage, SysFlag
from mqgateway.gateway.client.compression import Compression, compress
from mqgateway.gateway.web import messages
from tests.support.gateway.console import HOST_BYTES


def stored(body: bytes, sys_flag: int = 0, **properties: str) -> StoredMessage:
    message = StoredMessage("T", 1, body, properties, 5, HOST_BYTES, HOST_BYTES, sys_flag=sys_flag)
    message.queue_offset, message.physical_offset, message.size = 7, 300, 100
    message.store_timestamp, message.body_crc = 6, 9
    return message


@pytest.mark.parametrize(
    ("body", "text", "form"),
    [
        (b"hello", "hello", "text"),
        ("größer".encode(), "größer", "text"),
        (b'{"a": 1}', '{"a": 1}', "json"),
        (b'{"a": 1', '{"a": 1', "text"),
        (b"\xff\xfe\x00", "fffe00", "hex"),
        (b"a\x00b", "610062", "hex"),
        (b"", "", "text"),
        (b"[" * 100_000, "[" * 65_536, "text"),
    ],
)
def test_form_of_a_body_is_detected(body: bytes, text: str, form: str) -> None:
    shown = messages.whole(stored(body))
    assert (shown["body"], shown["form"], shown["bytes"]) == (text, form, len(body))


def test_long_text_is_truncated_between_characters() -> None:
    shown = messages.whole(stored("ä".encode() * 40_000 + b"x"))
    assert (len(shown["body"]), shown["form"], shown["isWhole"]) == (32_768, "text", False)
    odd = messages.whole(stored(b"x" + "ä".encode() * 40_000))
    assert (odd["body"][-1], odd["form"], odd["isWhole"]) == ("ä", "text", False)


def test_compressed_bodies_are_made_whole() -> None:
    shown = messages.whole(stored(zlib.compress(b"hello"), SysFlag.COMPRESSED))
    assert (shown["body"], shown["codec"]) == ("hello", "ZLIB")
    lz4 = messages.whole(stored(compress(b"hello", Compression.LZ4, 0), Compression.LZ4.flag))
    assert (lz4["body"], lz4["codec"]) == ("hello", "LZ4")
    broken = messages.whole(stored(b"\xffbroken", SysFlag.COMPRESSED))
    assert (broken["form"], broken["codec"]) == ("hex", "")
    assert messages.whole(stored(b"hello"))["codec"] == ""


def test_a_row_has_the_beginning_only() -> None:
    row = messages.row(stored(b"x" * 1000, TAGS="t", KEYS="a b", UNIQ_KEY="u"))
    assert (row["preview"], row["tags"], row["keys"], row["uniqueKey"]) == ("x" * 120, "t", "a b", "u")
    assert (row["topic"], row["queueId"], row["queueOffset"], row["bytes"]) == ("T", 1, 7, 1000)
    assert "body" not in row and row["id"].endswith("012C")
