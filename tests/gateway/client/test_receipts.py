"""Receipts of popped messages: built as by Java's client, and parsed."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import PROPERTY_FIRST_POP_TIME, PROPERTY_POP_CK
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.receipts import DELAY_SECONDS, given, pause, restamp, stamp
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.headers import ChangeInvisibleTimeResponseHeader, PopMessageResponseHeader


def message(topic: str = "T", queue_id: int = 0, offset: int = 0, **properties: str) -> ReceivedMessage:
    made = ReceivedMessage.__new__(ReceivedMessage)
    made.topic, made.queue, made.queue_offset = topic, MessageQueue(topic, "b", queue_id), offset
    made.properties = dict(properties)
    made.reconsume_times = 0
    made.born_timestamp = 0
    return made


def header(starts: str | None) -> PopMessageResponseHeader:
    return PopMessageResponseHeader(
        pop_time=1000, invisible_time=60_000, revive_qid=3, rest_num=0, start_offset_info=starts
    )


def test_receipts_name_where_the_check_point_starts() -> None:
    messages = [message(offset=7), message(offset=9), message(queue_id=2, offset=1)]
    stamp(messages, "T", "b", header("0 0 7;0 2 0"))
    assert [one.properties[PROPERTY_POP_CK] for one in messages] == [
        "7 1000 60000 3 0 b 0 7",
        "7 1000 60000 3 0 b 0 9",
        "0 1000 60000 3 0 b 2 1",
    ]
    assert {one.properties[PROPERTY_FIRST_POP_TIME] for one in messages} == {"1000"}


def test_without_starts_the_first_message_of_a_queue_counts() -> None:
    messages = [message(offset=7), message(offset=9)]
    stamp(messages, "T", "b", header(None))
    assert messages[1].properties[PROPERTY_POP_CK] == "7 1000 60000 3 0 b 0 9"


def test_redelivered_message_keeps_receipt_and_time_of_its_first_pop() -> None:
    again = message("%RETRY%G_T", POP_CK="5 1 2 3 1 b 0 5")
    again.properties[PROPERTY_FIRST_POP_TIME] = "1"
    stamp([again], "T", "b", header("1 0 5"))
    assert again.topic == "T" and again.properties[PROPERTY_POP_CK] == "5 1 2 3 1 b 0 5"
    assert again.properties[PROPERTY_FIRST_POP_TIME] == "1"


@pytest.mark.parametrize(("kind", "topic"), [("0", "T"), ("1", "%RETRY%G_T"), ("2", "%RETRY%G+T")])
def test_receipt_has_the_position_of_the_message(kind: str, topic: str) -> None:
    found = given(message(POP_CK=f"5 1000 60000 3 {kind} b 4 6"), "T", "G")
    assert found[:5] == (topic, "b", 4, 6, 60_000)


@pytest.mark.parametrize("text", ["", "1 2 3 4 0 b", "1 2 3 4 9 b 0 0", "a 2 3 4 0 b 0 0", "1 2 3 4 0 b x 0"])
def test_invalid_receipt_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        given(message(POP_CK=text), "T", "G")


def test_messages_rest_longer_each_time() -> None:
    again = message()
    rests = []
    for times in range(16):
        again.reconsume_times = times
        rests.append(pause(again, 0, 16, now=0))
    assert rests == list(DELAY_SECONDS)
    assert pause(again, 3, 16, now=0) == DELAY_SECONDS[3]
    assert pause(again, 99, 16, now=0) == DELAY_SECONDS[-1]


def test_a_message_refused_too_often_is_given_up_when_it_is_old() -> None:
    again = message()
    again.reconsume_times = 16
    assert pause(again, 0, 16, now=5_000) == 10
    assert pause(again, 0, 16, now=65_000) == 120
    assert pause(again, 0, 16, now=14_400_000) == 7200
    assert pause(again, 0, 16, now=14_401_001) is None


def test_ordered_messages_have_their_counts_from_the_answer() -> None:
    messages = [message(offset=7), message(offset=8), message(queue_id=2)]
    answer = header("0 0 7;0 2 0")
    answer.order_count_info = "0 0 1;0 qo0%8 3"
    stamp(messages, "T", "b", answer)
    assert [one.reconsume_times for one in messages] == [1, 3, 0]


def test_new_invisible_time_gives_a_new_receipt() -> None:
    one = message(POP_CK="5 1000 60000 3 1 b 4 6")
    restamp(
        one,
        given(one, "T", "G"),
        ChangeInvisibleTimeResponseHeader(pop_time=2000, invisible_time=9000, revive_qid=7),
    )
    assert one.properties[PROPERTY_POP_CK] == "6 2000 9000 7 1 b 4 6"
