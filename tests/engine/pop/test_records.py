"""Checkpoints and acknowledgements, compared with the output of RocketMQ's own classes."""

import pytest

from mqgateway.engine.message import pack_host
from mqgateway.engine.pop.records import Ack, CheckPoint, PointKey, ack_message, check_point_message

HOST = pack_host("127.0.0.1", 10911)
KEY = PointKey("orders", "gA", 3, 5, 1_700_000_000_123, "b-1")
POINT = CheckPoint(KEY, 60_000, (0, 2))

# Made by the classes of 5.5.0.
POINT_TEXT = (
    b'{"bm":0,"bn":"b-1","c":"gA","d":[0,2],"it":60000,"n":2,"pt":1700000000123,"q":3,'
    b'"reviveTime":1700000060123,"ro":0,"so":5,"sp":false,"t":"orders"}'
)
PUT_BACK_TEXT = (
    b'{"bm":0,"bn":"b-1","c":"gA","d":[0,2],"it":60000,"n":2,"pt":1700000000123,"q":3,'
    b'"reviveTime":1700000060123,"ro":0,"rp":"2","so":5,"sp":true,"t":"orders"}'
)
ACK_TEXT = b'{"ao":7,"bn":"b-1","c":"gA","pt":1700000000123,"q":3,"so":5,"t":"orders"}'
BATCH_TEXT = b'{"ao":-1,"aol":[5,7],"bn":"b-1","c":"gA","pt":1700000000123,"q":3,"so":5,"t":"orders"}'


@pytest.mark.parametrize(
    ("point", "text"),
    [(POINT, POINT_TEXT), (CheckPoint(KEY, 60_000, (0, 2), True, 2), PUT_BACK_TEXT)],
    ids=["plain", "put back and suspended"],
)
def test_a_check_point_is_the_standards(point: CheckPoint, text: bytes) -> None:
    assert point.encode() == text
    assert CheckPoint.decode(text) == point


@pytest.mark.parametrize(
    ("ack", "text"), [(Ack(KEY, (7,)), ACK_TEXT), (Ack(KEY, (5, 7), True), BATCH_TEXT)], ids=["one", "batch"]
)
def test_an_acknowledgement_is_the_standards(ack: Ack, text: bytes) -> None:
    assert ack.encode() == text
    assert Ack.decode(text, "other") == ack


def test_the_offsets_of_a_check_point() -> None:
    assert POINT.offsets == [5, 7]
    assert POINT.revive_time == 1_700_000_060_123


def test_a_check_point_of_an_old_broker_counts_its_messages() -> None:
    point = CheckPoint.decode(b'{"so":5,"pt":1,"it":2,"n":3,"q":0,"t":"t","c":"g"}')
    assert point is not None
    assert point.offsets == [5, 6, 7]
    assert point.key.broker_name == ""


def test_an_acknowledgement_of_an_old_broker_is_spelled_out() -> None:
    text = b'{"ackOffset":7,"startOffset":5,"consumerGroup":"gA","topic":"orders","queueId":3,"popTime":9}'
    assert Ack.decode(text, "b-1") == Ack(KEY._replace(pop_time=9), (7,))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"3-17",
        b'{"so":5}',
        b'{"t":"t","c":"g","q":"x"}',
        b'{"t":"t","c":"g","n":1,"d":["a"]}',
        b'{"t":"t","c":"g","n":1,"d":[-1]}',
        b'{"t":"t","c":"g","so":9223372036854775808}',
    ],
)
def test_invalid_checkpoint_is_none(text: bytes) -> None:
    assert CheckPoint.decode(text) is None


@pytest.mark.parametrize(
    "text", [b"", b"{}", b'{"t":"t","c":"g","aol":["a"]}', b'{"t":"t","c":"g","ao":"a"}']
)
def test_invalid_acknowledgement_is_none(text: bytes) -> None:
    assert Ack.decode(text, "b") is None


def test_a_check_point_is_due_a_second_before_its_messages_are_visible() -> None:
    message = check_point_message(POINT, "revive", 4, HOST, 1_700_000_000_200)
    assert (message.topic, message.queue_id, message.body) == ("revive", 4, POINT_TEXT)
    assert message.properties == {
        "TAGS": "ck",
        "TIMER_DELIVER_MS": "1700000059123",
        "UNIQ_KEY": "orders@3@5@gA@1700000000123@b-1@ck",
    }


def test_check_point_of_a_pop_reports_where_its_group_continues() -> None:
    message = check_point_message(POINT, "revive", 4, HOST, 1_700_000_000_200, 11)
    assert message.properties["POP_NEXT_OFFSET"] == "11"


def test_a_check_point_that_is_due_waits_for_the_next_step_of_the_timers() -> None:
    """So all checkpoints are in the timer topic, in the order of the pops."""
    now = POINT.revive_time
    assert check_point_message(POINT, "r", 0, HOST, now).properties["TIMER_DELIVER_MS"] == str(now + 1)


@pytest.mark.parametrize(
    ("ack", "tag", "key"),
    [
        (Ack(KEY, (7,)), "ack", "orders@3@7@gA@1700000000123@b-1@ack"),
        (Ack(KEY, (5, 7), True), "bAck", "orders@3@-1@gA@1700000000123@b-1@ack"),
    ],
)
def test_an_acknowledgement_is_due_when_its_message_is_visible(ack: Ack, tag: str, key: str) -> None:
    message = ack_message(ack, POINT.revive_time, "revive", 4, HOST, 1_700_000_000_200)
    assert message.properties == {"TAGS": tag, "TIMER_DELIVER_MS": "1700000060123", "UNIQ_KEY": key}


def test_a_message_that_cannot_be_read_is_tried_after_longer_and_longer_pauses() -> None:
    now = POINT.revive_time + 3000
    again = POINT.put_back(7, now)
    assert again.offsets == [7]
    assert again.key.pop_time == KEY.pop_time
    assert again.revive_time == now + 10_000
    assert again.put_back(7, again.revive_time).revive_time == again.revive_time + 20_000


def test_the_longest_pause_comes_again_and_again() -> None:
    point = POINT
    for _ in range(17):
        assert not point.is_tried_out
        point = point.put_back(7, point.revive_time)
    assert point.is_tried_out
    assert point.put_back(7, point.revive_time).revive_time == point.revive_time + 7_200_000


def test_check_point_says_where_the_log_ended_when_its_messages_were_popped() -> None:
    point = CheckPoint(KEY, 60_000, (0,), log_offset=77)
    assert CheckPoint.decode(point.encode()) == point
    assert point.put_back(5, 1_700_000_000_123).log_offset == 77
