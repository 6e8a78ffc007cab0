"""Batches of many messages: made ready in steps, stored in one go, dispatched in parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message
from mqgateway.engine.steps import run
from mqgateway.engine.store.client_elements import count_batch, element_ends, split_batch
from mqgateway.engine.store.large_batch import PART_WEIGHT, LargeBatch, made_ready
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.store.record import topic_field
from tests.support.engine.store.stores import HOST_V6, Bench, batch, drain, message

MANY = 3 * PART_WEIGHT + 5
FILES = {"mapped_file_size_commit_log": 1 << 20, "mapped_file_size_consume_queue": 20_000}
TOPIC = topic_field("orders", True)


def ready(bench: Bench, of: Message, elements: bytes) -> LargeBatch:
    """A batch that is not refused."""
    made = run(bench.store.make_ready(of, elements))
    assert isinstance(made, LargeBatch), made
    return made


def log_of(bench: Bench) -> bytes:
    return bench.disk.open("/store/commitlog/00000000000000000000").read(0, bench.store.max_physical_offset)


def numbered(count: int, properties: bytes = b"KEYS\1k\2") -> bytes:
    """A batch whose messages are not all of one length."""
    return batch(*[b"%d" % number for number in range(count)], properties=properties)


@pytest.mark.parametrize("born_v6", [False, True])
@pytest.mark.parametrize("has_crc", [False, True])
def test_it_is_stored_as_if_in_one_go(has_crc: bool, born_v6: bool) -> None:
    benches = [Bench(enabled_append_prop_crc=has_crc, **FILES) for _ in range(2)]
    results = []
    for bench, in_steps in zip(benches, (False, True), strict=True):
        bench.put(message(), message(topic="others"))
        of = message()
        if born_v6:
            of.born_host = HOST_V6
        made = ready(bench, of, numbered(MANY)) if in_steps else numbered(MANY)
        results.append(bench.store.put_batch(of, made))
        bench.put(message(body=b"after"))
    one, other = results
    assert (one.status, one.queue_offset, one.count) == (PutStatus.PUT_OK, 1, MANY)
    assert str(one) == str(other) and one.message_id == other.message_id
    assert log_of(benches[0]) == log_of(benches[1])
    found = [drain(bench.store) for bench in benches]
    assert [m.body for m in found[0]] == [m.body for m in found[1]]
    assert [m.queue_offset for m in found[1]] == list(range(MANY + 2))
    again = benches[1].kill()
    assert [m.body for m in drain(again.store)] == [m.body for m in found[0]]


def test_others_store_while_it_is_made_ready() -> None:
    bench = Bench(**FILES)
    of = message()
    steps = bench.store.make_ready(of, numbered(MANY))
    next(steps)
    bench.put(message(body=b"before"))
    bench.clock.advance(5)
    result = bench.store.put_batch(of, run(steps))  # type: ignore[arg-type]
    bench.store.dispatch()
    found = drain(bench.store)
    assert [m.body for m in found[:2]] == [b"before", b"0"]
    assert [m.physical_offset for m in found[1:]] == [
        int(one[16:], 16) for one in result.message_id.split(",")
    ]
    assert {m.store_timestamp for m in found[1:]} == {bench.clock.millis()}


def test_it_is_dispatched_in_parts_if_something_continues_them() -> None:
    bench, asked = Bench(**FILES), []
    bench.store.watch_rest(lambda: asked.append(bench.store.max_offset("orders", 0)))
    of = message()
    bench.store.put_batch(of, ready(bench, of, numbered(MANY)))
    bench.store.put(message(body=b"behind"))
    bench.store.dispatch()
    assert asked == [PART_WEIGHT] and bench.store.is_behind
    assert bench.store.max_offset("orders", 0) == PART_WEIGHT
    while bench.store.is_behind:
        bench.store.dispatch()
    assert asked == [PART_WEIGHT, 2 * PART_WEIGHT, 3 * PART_WEIGHT, MANY]
    assert [m.body for m in drain(bench.store)][-2:] == [b"%d" % (MANY - 1), b"behind"]
    assert len(bench.store.query("orders", "k", MANY + 1, 0, 1 << 60).records) > 0


def test_a_stop_or_a_kill_between_parts_loses_nothing() -> None:
    for end in (Bench.restart, Bench.kill):
        bench = Bench(**FILES)
        bench.store.watch_rest(lambda: None)
        of = message()
        bench.store.put_batch(of, ready(bench, of, numbered(MANY)))
        bench.store.dispatch()
        assert bench.store.is_behind
        assert len(drain(end(bench).store)) == MANY


def test_few_messages_with_many_keys_are_many_parts() -> None:
    heavy = run(made_ready(message(), numbered(4, b"KEYS\1" + b"a " * 5000), TOPIC, 0, False, 9))
    assert [len(part) for part in heavy.parts] == [1] * 4
    large = run(made_ready(message(), batch(*[bytes(100_000)] * 3), TOPIC, 0, False, 9))
    assert [len(part) for part in large.parts] == [2, 1]
    assert sum(large.sizes) == len(large.records)


def test_too_many_messages_are_refused_and_the_option_named() -> None:
    bench = Bench(max_batch_messages=5, **FILES)
    for refused in (
        run(bench.store.make_ready(message(), numbered(6))),
        bench.store.put_batch(message(), numbered(6)),
    ):
        assert isinstance(refused, PutResult) and refused.status is PutStatus.MESSAGE_ILLEGAL
        assert "maxBatchMessages" in refused.remark
    assert bench.store.put_batch(message(), numbered(5)).status is PutStatus.PUT_OK


def test_a_batch_is_no_longer_than_a_message_may_be() -> None:
    bench = Bench(max_message_size=200, **FILES)
    long = batch(bytes(100), bytes(100))
    refused = run(bench.store.make_ready(message(), long))
    assert isinstance(refused, PutResult) and refused.status is PutStatus.MESSAGE_ILLEGAL
    assert bench.store.put_batch(message(), long).status is PutStatus.MESSAGE_ILLEGAL


def test_a_store_that_is_stopped_refuses_what_was_made_ready() -> None:
    bench = Bench(**FILES)
    of = message()
    made = ready(bench, of, numbered(3))
    bench.store.stop()
    assert bench.store.put_batch(of, made).status is PutStatus.SERVICE_NOT_AVAILABLE


bodies = st.lists(st.binary(max_size=3000), max_size=2 * PART_WEIGHT)


@given(bodies, st.integers(0, 1 << 20), st.integers(-1, 60))
def test_any_bytes_are_cut_as_a_small_batch_is(parts: list[bytes], at: int, value: int) -> None:
    elements = bytearray(batch(*parts))
    if elements and value >= 0:
        elements[at % len(elements)] = value
    try:
        whole = split_batch(bytes(elements))
        assert count_batch(bytes(elements), 1 << 20) == len(whole)
        assert count_batch(bytes(elements), 3) == min(4, len(whole))
    except MessageIllegal:
        whole = []
        if elements:
            with pytest.raises(MessageIllegal):
                count_batch(bytes(elements), 1 << 20)
    try:
        made = run(made_ready(message(), bytes(elements), TOPIC, 0, False, 1 << 20))
        texts = [text for part in made.parts for _, text in part]
    except MessageIllegal:
        texts = []
    assert texts == [tail[2:] for _, _, tail in whole]


def test_batch_with_wrong_element_sizes_is_made_ready_by_its_lengths() -> None:
    elements = bytearray(batch(*[b"x" * 900] * (2 * PART_WEIGHT)))
    at = 0
    while at < len(elements):
        _, end = element_ends(bytes(elements), at)
        elements[at : at + 4] = (end - at - 4).to_bytes(4, "big")
        at = end
    made = run(made_ready(message(), bytes(elements), TOPIC, 0, False, 1 << 20))
    assert len(made.sizes) == 2 * PART_WEIGHT
    assert len(made.parts) > 1
