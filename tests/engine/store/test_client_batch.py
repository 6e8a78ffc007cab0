"""A batch of equal lengths has the same records, queue units and index entries as any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.store import client_batch, consume_queue, index_file, schema
from mqgateway.engine.store.client_batch import ClientBatch, EvenBatch, PlainBatch, cut
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.record import record_size, sys_flag_for, topic_field
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.unique_keys import lone_unique_key, lone_unique_keys
from tests.support.engine.store.stores import Bench, message, parts_of

HOSTS = [pack_host("10.0.0.7", 5), pack_host("::1", 7)]
TAILS = [b"", b"\2", b"\2WAIT\1true", b"\2WAIT\1true\2", b"\2TAGS\1a", b"\2KEYS\1k"]

PRODUCER = b"__KPID\1"
"""Property that `cut` removes and `PlainBatch` keeps."""


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without the extension."""
    for module in (client_batch, index_file, consume_queue):
        monkeypatch.setattr(module, "native", None)


def elements(parts: list[tuple[int, bytes, bytes]]) -> bytes:
    """Return the body of a batch of messages with these flags, bodies and properties."""
    rows = [
        {"magic": 0, "body_crc": 0, "flag": flag, "body": body, "properties": properties}
        for flag, body, properties in parts
    ]
    return bytes(schema.BATCH.build(rows))


def records(batch: ClientBatch, topic: str, hosts: tuple[bytes, bytes]) -> bytes:
    message = Message(topic, 3, b"", {}, 77, *hosts, 0, 1, 2, 99)
    field, sys_flag = topic_field(topic, True), sys_flag_for(message)
    sizes = batch.sizes(field, sys_flag)
    made = batch.records(message, field, sizes, sys_flag, 1 << 40, 1 << 50, 1_700_000_000_000)
    assert len(made) == sum(sizes)
    return made


@st.composite
def alike(draw: st.DrawFn) -> list[tuple[int, bytes, bytes]]:
    """Draw messages of equal lengths, with any flag."""
    body, tail = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    one = st.tuples(
        st.sampled_from([0, 0, 0, 7, -1]),
        st.binary(min_size=body, max_size=body),
        st.binary(min_size=tail, max_size=tail),
    )
    return draw(st.lists(one, min_size=1, max_size=40))


unlike = st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=3), st.binary(max_size=3)), min_size=1)


@given(alike() | unlike, st.sampled_from(["t", "x" * 200]), st.sampled_from(HOSTS), st.sampled_from(HOSTS))
def test_the_records_are_the_same(
    parts: list[tuple[int, bytes, bytes]], topic: str, born: bytes, stored: bytes
) -> None:
    data = elements(parts)
    assume(PRODUCER not in data)
    assert records(cut(data, False), topic, (born, stored)) == records(
        PlainBatch(data, False), topic, (born, stored)
    )


@pytest.mark.parametrize("has_crc", [False, True])
def test_property_of_a_kafka_producer_is_removed(has_crc: bool) -> None:
    rest = (0, PRODUCER, b"KEYS\1k\2")
    forged, honest = ((0, b"a", b"A\1b\2" + more) for more in (PRODUCER + b"7:0:0:1\2", b""))
    of = "t", (HOSTS[0], HOSTS[0])
    made = records(cut(elements([rest, forged]), has_crc), *of)
    assert made == records(PlainBatch(elements([rest, honest]), has_crc), *of)


def test_which_batches_are_even(in_python: None) -> None:
    same = [(1, b"abc", b"de")] * 3
    assert isinstance(cut(elements(same), False), EvenBatch)
    assert isinstance(cut(elements(same), True), PlainBatch)  # there is a checksum to be added to each
    for other in ((2, b"abc", b"de"), (1, b"ab", b"cde"), (1, b"abc", b"d")):
        assert isinstance(cut(elements([*same, other]), False), PlainBatch)


@given(alike(), st.data())
def test_damaged_batch_has_same_outcome_as_plain_batch(
    parts: list[tuple[int, bytes, bytes]], choose: st.DataObject
) -> None:
    data = bytearray(elements(parts))
    at = choose.draw(st.integers(0, len(data) - 1))
    data[at] ^= choose.draw(st.integers(1, 255))
    damaged = bytes(data[: choose.draw(st.integers(0, len(data)))])
    assume(PRODUCER not in damaged)
    outcomes: list[Any] = []
    for make in (cut, PlainBatch):
        try:
            outcomes.append(records(make(damaged, False), "t", (HOSTS[0], HOSTS[0])))
        except MessageIllegal as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("size", [-1, 0, 1, 18 + 3 + 2, 99_999])
def test_batch_with_wrong_element_sizes_gives_the_same_records(size: int) -> None:
    for other in (b"abc", b"abcd"):
        right = elements([(1, b"abc", b"de"), (1, other, b"fg")])
        wrong = bytearray(right)
        for at in (0, 22 + 3 + 2):
            wrong[at : at + 4] = size.to_bytes(4, "big", signed=True)
        of = "t", (HOSTS[0], HOSTS[0])
        for make in (cut, PlainBatch):
            assert records(make(bytes(wrong), False), *of) == records(make(right, False), *of)


def test_even_batch_with_wrong_element_sizes_is_read_in_columns(in_python: None) -> None:
    wrong = bytearray(elements([(1, b"abc", b"de")] * 3))
    wrong[:4] = bytes(4)
    assert isinstance(cut(bytes(wrong), False), EvenBatch)


LETTERS = "0123456789ABCDEFxyz"
key_lists = st.sampled_from([32, 56]).flatmap(
    lambda length: st.lists(
        st.text(LETTERS, min_size=length, max_size=length).map(str.encode), min_size=1, max_size=40
    )
)
near_keys = st.tuples(st.sampled_from([28, 52]), st.lists(st.binary(min_size=4, max_size=4), min_size=1)).map(
    lambda given: [b"7" * given[0] + rest for rest in given[1]]
)


@given(key_lists, st.sampled_from(TAILS), st.booleans())
def test_unique_keys_are_those_that_are_found_one_by_one(
    names: list[bytes], tail: bytes, is_spoilt: bool
) -> None:
    texts = [b"UNIQ_KEY\1" + name + tail for name in names]
    if is_spoilt:
        texts[-1] = texts[-1].replace(names[-1], b"-" * len(names[-1]))
    found = lone_unique_keys(texts)
    if found is not None:
        assert list(found) == [lone_unique_key(text) for text in texts]
    assert (found is not None) == (tail in TAILS[:4] and not is_spoilt)


@given(key_lists | near_keys, st.text(max_size=20))
def test_their_hashes_are_those_of_each(names: list[bytes], topic: str) -> None:
    hashes = KeyHashes()
    assert hashes.of_unique_keys(topic, names) == [hashes.of_bytes(topic, name) for name in names]


def test_short_properties_have_no_unique_keys() -> None:
    assert lone_unique_keys([b""]) is None
    assert lone_unique_keys([b"UNIQ_KEY\1A"] * 2) is None
    assert lone_unique_keys([b"UNIQ_KEY\1" + b"A" * 31 + b"\2"] * 2) is None


def test_rows_and_keys_to_dispatch() -> None:
    names = [f"7F00000100002A139F5545CA0EDB{number:04X}".encode() for number in range(3)]
    data = elements([(0, b"b", b"UNIQ_KEY\1" + name) for name in names])
    batch = cut(data, False)
    sizes = batch.sizes(topic_field("t", True), 0)
    keyed = batch.keyed(sizes)
    assert keyed is not None
    assert (keyed.sizes, list(keyed.keys)) == ([record_size(0, 1, 2, 41)] * 3, names)
    assert batch.rows(sizes) == PlainBatch(data, False).rows(sizes)
    assert batch.rows(sizes) == [(sizes[0], b"UNIQ_KEY\1" + name) for name in names]


def disk_after(
    properties: list[list[bytes]], topic: str, cutting: Callable[[bytes, bool], ClientBatch], **changes: Any
) -> tuple[Any, ...]:
    """Return all bytes on disk, and the arrivals, after batches of messages with these properties."""
    bench = Bench(**changes)
    bench.store._writer.cut = cutting
    bench.put(message(topic=topic))
    for texts in properties:
        data = elements([(0, b"x" * 20, text) for text in texts])
        assert bench.store.put_batch(message(topic=topic, properties={}), data).status is PutStatus.PUT_OK
    bench.store.dispatch()
    arrivals = [parts_of(arrival) for arrival in bench.arrivals]
    bench.store.stop()
    return {path: bench.disk.read_bytes(path) for path in bench.disk.files("/store")}, arrivals


@pytest.mark.parametrize("topic", ["orders", "batched"])
@pytest.mark.parametrize("begin", ["7F000001", "FD" + "0" * 30])
@pytest.mark.parametrize("changes", [{}, {"flush_disk_type": "SYNC_FLUSH"}])
def test_the_disk_is_the_same(
    topic: str, begin: str, changes: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    names = [f"{begin}00002A139F5545CA0ED{number:05X}".encode() for number in range(20)]
    keyed = [b"UNIQ_KEY\1" + name + b"\2WAIT\1true" for name in names]
    tagged = [text + b"\2TAGS\1a" for text in keyed]
    batches = [keyed[:1], keyed[1:12], tagged[:5], keyed[12:], [*keyed[:2], *tagged[:2]]]
    natively = disk_after(batches, topic, cut, **changes)
    request.getfixturevalue("in_python")
    evenly = disk_after(batches, topic, cut, **changes)
    plainly = disk_after(batches, topic, PlainBatch, **changes)
    assert natively == evenly == plainly
    assert any(set(data) - {0} for path, data in evenly[0].items() if "index" in path)


def test_a_batch_that_waits_when_its_topic_goes_enters_no_queue() -> None:
    bench = Bench()
    data = elements([(0, b"x", b"UNIQ_KEY\1" + bytes([65 + n]) * 32) for n in range(3)])
    bench.store.put_batch(message(properties={}), data)
    bench.store._dispatch.forget("orders")
    bench.store.dispatch()
    assert bench.store.max_offset("orders", 0) == 0
    assert bench.arrivals == []
    assert len(bench.store.query("orders", "A" * 32, 9, 0, 1 << 60).records) == 1
