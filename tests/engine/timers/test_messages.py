"""Timer messages: moved to the timer topic, restored, rescheduled; and handles to recall them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, StoredMessage, SysFlag
from mqgateway.engine.store.record import decode
from mqgateway.engine.timers.messages import (
    RecallHandle,
    delete_keys,
    given_back,
    has_timer,
    out_time_of,
    put_aside,
    requested_time,
    rolled,
    slot_time,
)
from tests.support.engine.timers.bench import START, Bench, message


def stored(asked: Message) -> StoredMessage:
    bench = Bench()
    bench.store.put(message(b"before"))
    result = bench.store.put(asked)
    bench.store.dispatch()
    record = bench.store.record_at(result.physical_offset)
    assert record is not None
    found = decode(record)
    assert found is not None
    return found


def aside(out_time: int = START, **properties: str) -> StoredMessage:
    asked = message(b"x", "k", **properties)
    put_aside(asked, out_time)
    return stored(asked)


def test_put_aside_and_given_back() -> None:
    one = aside()
    assert (one.topic, one.queue_id, out_time_of(one)) == ("rmq_sys_wheel_timer", 0, START)
    back = given_back(one, 11, 22)
    assert (back.topic, back.queue_id, back.body) == ("orders", 1, b"x")
    assert back.properties == {
        "TAGS": "red",
        "UNIQ_KEY": "k",
        "TIMER_OUT_MS": str(START),
        "TIMER_ENQUEUE_MS": "11",
        "TIMER_DEQUEUE_MS": "22",
    }
    assert back.prepared_transaction_offset == one.physical_offset > 0


def test_timers_set_again_count_how_often() -> None:
    one = rolled(aside(), 11, 22)
    assert (one.topic, one.queue_id, one.properties["TIMER_ROLL_TIMES"]) == ("rmq_sys_wheel_timer", 0, "1")
    assert one.properties["REAL_TOPIC"] == "orders"
    assert rolled(stored(one), 33, 44).properties["TIMER_ROLL_TIMES"] == "2"


@pytest.mark.parametrize(
    "name", ["rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", ""]
)
def test_never_delivered_to_where_it_would_go_round(name: str) -> None:
    one = aside()
    one.properties["REAL_TOPIC"] = name
    with pytest.raises(MessageIllegal):
        given_back(one, 0, 0)


@pytest.mark.parametrize(
    ("changes", "flag", "wanted"),
    [
        ({"TIMER_DELAY_SEC": "1"}, 0, True),
        ({}, 0, False),
        ({"TIMER_DELAY_SEC": "1", "TIMER_OUT_MS": "1"}, 0, False),
        ({"TIMER_DELIVER_MS": "1"}, SysFlag.TRANSACTION_PREPARED, False),
        ({"TIMER_DELIVER_MS": "1"}, SysFlag.TRANSACTION_COMMIT, True),
    ],
)
def test_which_have_a_timer(changes: dict[str, str], flag: int, wanted: bool) -> None:
    asked = message(**changes)
    asked.sys_flag |= flag
    assert has_timer(asked) is wanted


@given(st.integers(1, 2**50), st.sampled_from([1, 10, 100, 1000, 60_000]))
def test_the_slot_ends_at_the_time_or_within_a_step_after(time: int, precision: int) -> None:
    slot = slot_time(time, precision)
    assert slot % precision == 0
    assert time <= slot + precision < time + precision


def test_times_that_java_cannot_hold() -> None:
    assert requested_time({"TIMER_DELIVER_MS": "+5"}, 0) == 5
    assert requested_time({"TIMER_DELAY_SEC": "-5"}, 9000) == 4000
    for text in ("9223372036854775808", "0x10", " 1", "١"):
        with pytest.raises(MessageIllegal):
            requested_time({"TIMER_DELIVER_MS": text}, 0)


def test_out_times_that_are_none() -> None:
    one = aside()
    for text in ("", "soon"):
        one.properties["TIMER_OUT_MS"] = text
        with pytest.raises(MessageIllegal):
            out_time_of(one)


def test_keys_that_delete() -> None:
    assert delete_keys(aside()) == (("orders", "k"), ("orders", "orders+k"))


def test_handles_are_the_standards() -> None:
    handle = RecallHandle("T", "broker-a", "1700000000001", "7F0000010F0018B4AAC2086E8F1B0000")
    text = handle.encode()
    assert text == ("djEgVCBicm9rZXItYSAxNzAwMDAwMDAwMDAxIDdGMDAwMDAxMEYwMDE4QjRBQUMyMDg2RThGMUIwMDAw")
    assert RecallHandle.decode(text) == handle


@pytest.mark.parametrize("text", ["", "x", "djE", "!!!", "djIgYSBiIGMgZA==", "_w==", "djEgYSBiIGM="])
def test_other_texts_are_no_handles(text: str) -> None:
    with pytest.raises(MessageIllegal, match="recall handle is invalid"):
        RecallHandle.decode(text)
