"""Fields of hand-written codecs: what is plain is read and written, anything else raises."""

import pytest

from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.plain import (
    NOT_PLAIN,
    read_count,
    read_end,
    read_name,
    read_text,
    write_count,
    write_name,
    write_topic,
)


@pytest.mark.parametrize("flexible", [False, True])
def test_name_survives_a_round_trip(flexible: bool) -> None:
    out = bytearray()
    write_name(out, flexible, "Größe")
    assert read_name(Reader(out), flexible) == read_text(Reader(out), flexible) == "Größe"


@pytest.mark.parametrize(("flexible", "null"), [(False, b"\xff\xff"), (True, b"\x00")])
def test_null_is_a_text_but_no_name(flexible: bool, null: bytes) -> None:
    assert read_text(Reader(null), flexible) is None
    with pytest.raises(NOT_PLAIN):
        read_name(Reader(null), flexible)


@pytest.mark.parametrize("flexible", [False, True])
def test_count_must_fit_the_bytes_left_and_not_be_null(flexible: bool) -> None:
    out = bytearray()
    write_count(out, flexible, 3)
    assert read_count(Reader(bytes(out) + bytes(12)), flexible, 4) == 3
    null = bytearray()
    write_count(null, flexible, -1)
    for data in (bytes(out) + bytes(11), bytes(null)):
        with pytest.raises(NOT_PLAIN):
            read_count(Reader(data), flexible, 4)


def test_tagged_fields_are_not_plain() -> None:
    read_end(Reader(b"\x00"))
    with pytest.raises(NOT_PLAIN):
        read_end(Reader(b"\x01\x00\x00"))


def test_topic_is_its_name_or_an_id_of_sixteen_bytes() -> None:
    out = bytearray()
    write_topic(out, True, True, "Orders", bytes(16))
    write_topic(out, True, False, "Orders", b"")
    assert out == bytes(16) + b"\x07Orders"
    for call in ((True, "Orders", b"short"), (False, "x" * 40_000, b"")):
        with pytest.raises(NOT_PLAIN):
            write_topic(out, True, *call)
