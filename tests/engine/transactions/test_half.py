"""Half messages: their form at each step, and what is due with them."""

import pytest

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, StoredMessage, pack_host
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.store.record import decode
from mqgateway.engine.transactions.half import (
    Due,
    HalfMessage,
    as_committed,
    as_given_up,
    as_half,
    as_resumed,
    question_record,
    renewed,
)

HOST = pack_host("127.0.0.1", 10911)
BORN = pack_host("192.168.7.9", 51000)
NOW = 1_700_000_000_000
HOUR = 3_600_000


def stored(properties: dict[str, str] | None = None, *, age: int = 0, queue_offset: int = 7) -> StoredMessage:
    given = {
        "TRAN_MSG": "true",
        "PGROUP": "PG",
        "REAL_TOPIC": "T",
        "REAL_QID": "3",
        "UNIQ_KEY": "K",
        "TAGS": "red",
    }
    message = StoredMessage(
        "RMQ_SYS_TRANS_HALF_TOPIC", 0, b"body", given | (properties or {}), NOW - age, BORN, HOST, 5, 1, 2
    )
    message.store_timestamp = NOW - age
    message.queue_offset, message.physical_offset = queue_offset, 900
    return message


def half(properties: dict[str, str] | None = None, *, age: int = 0) -> HalfMessage:
    return HalfMessage(stored(properties, age=age))


def due(one: HalfMessage, now: int = NOW) -> Due:
    return one.due(now, 6000, 15, 72 * HOUR)


def test_a_half_message_remembers_where_it_goes() -> None:
    message = Message("T", 3, b"body", {"UNIQ_KEY": "K", "TAGS": "red"}, NOW, BORN, HOST, 5, 4 | 1)
    as_half(message)
    assert (message.topic, message.queue_id, message.sys_flag) == ("RMQ_SYS_TRANS_HALF_TOPIC", 0, 1)
    assert message.properties == {
        "UNIQ_KEY": "K",
        "TAGS": "red",
        "__transactionId__": "K",
        "REAL_TOPIC": "T",
        "REAL_QID": "3",
    }


def test_without_a_key_there_is_no_transaction_id() -> None:
    message = Message("T", 3, b"body", {}, NOW, BORN, HOST)
    as_half(message)
    assert "__transactionId__" not in message.properties


def test_a_committed_message_is_the_one_that_was_sent() -> None:
    message = as_committed(half(), 900)
    assert (message.topic, message.queue_id, message.body, message.flag) == ("T", 3, b"body", 5)
    assert message.sys_flag == 8 | 1
    assert message.prepared_transaction_offset == 900
    assert (message.born_timestamp, message.born_host, message.reconsume_times) == (NOW, BORN, 2)
    assert message.properties["TAGS"] == "red"


@pytest.mark.parametrize(
    "wrong", [{"REAL_TOPIC": ""}, {"REAL_QID": "x"}, {"REAL_QID": "-1"}, {"REAL_QID": ""}]
)
def test_a_half_message_that_belongs_nowhere_is_not_committed(wrong: dict[str, str]) -> None:
    with pytest.raises(MessageIllegal, match="half message 7"):
        as_committed(half(wrong), 900)


def test_a_copy_counts_questions_and_remembers_the_first() -> None:
    copy = renewed(half(), is_checked=True)
    assert (copy.topic, copy.queue_id, copy.body, copy.flag) == ("RMQ_SYS_TRANS_HALF_TOPIC", 0, b"body", 5)
    assert copy.properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert copy.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "7"
    again = renewed(half(copy.properties), is_checked=True)
    assert again.properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert again.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "7"


def test_a_copy_that_only_makes_room_counts_nothing() -> None:
    copy = renewed(half({"TRANSACTION_CHECK_TIMES": "3"}), is_checked=False)
    assert copy.properties["TRANSACTION_CHECK_TIMES"] == "3"


def test_the_question_is_the_message_under_its_own_topic_where_the_copy_lies() -> None:
    one = half()
    copy = renewed(one, is_checked=True)
    record = question_record(one, copy, PutResult(PutStatus.PUT_OK, HOST, 12, 4000, 4200, NOW + 5))
    is_checked = decode(record)
    assert (is_checked.topic, is_checked.queue_id, is_checked.body, is_checked.flag) == ("T", 3, b"body", 5)
    assert (is_checked.queue_offset, is_checked.physical_offset, is_checked.store_timestamp) == (
        12,
        4000,
        NOW + 5,
    )
    assert is_checked.size == len(record)
    assert is_checked.properties == copy.properties


def test_discarded_half_message_can_be_resumed() -> None:
    one = half({"TRANSACTION_CHECK_TIMES": "15", "TRAN_PREPARED_QUEUE_OFFSET": "2"})
    message = as_given_up(one)
    assert (message.topic, message.queue_id, message.body) == ("TRANS_CHECK_MAX_TIME_TOPIC", 0, b"body")
    kept = stored(message.properties)
    resumed = as_resumed(kept)
    assert resumed is not None
    assert (resumed.topic, resumed.queue_id) == ("RMQ_SYS_TRANS_HALF_TOPIC", 0)
    assert resumed.properties["TRANSACTION_CHECK_TIMES"] == "0"
    assert "TRAN_PREPARED_QUEUE_OFFSET" not in resumed.properties


@pytest.mark.parametrize("missing", ["REAL_TOPIC", "PGROUP"])
def test_another_message_is_not_taken_back(missing: str) -> None:
    other = stored()
    del other.properties[missing]
    assert as_resumed(other) is None


def test_nothing_is_due_before_the_time_out() -> None:
    assert due(half(age=0)) is Due.NOTHING_YET
    assert due(half(age=6000)) is Due.NOTHING_YET
    assert due(half(age=6001)) is Due.QUESTION


def test_the_first_copy_is_young_by_our_clock() -> None:
    """A producer with a slow clock must not be asked while it still works."""
    one = half(age=0)
    one.stored.born_timestamp -= 60_000
    assert due(one) is Due.NOTHING_YET


def test_a_later_copy_is_as_old_as_its_producer_says() -> None:
    one = half({"TRANSACTION_CHECK_TIMES": "1"})
    one.stored.born_timestamp -= 60_000
    assert due(one) is Due.QUESTION


def test_a_message_from_the_future_is_asked_about() -> None:
    one = half({"TRANSACTION_CHECK_TIMES": "1"})
    one.stored.born_timestamp += 60_000
    assert due(one) is Due.QUESTION


def test_a_producer_may_ask_for_more_time() -> None:
    wish = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "100"}
    assert due(half(wish, age=0)) is Due.LATER
    assert due(half(wish, age=100_000)) is Due.LATER
    assert due(half(wish, age=100_001)) is Due.QUESTION


@pytest.mark.parametrize("text", ["x", "", "-1", "1.5"])
def test_a_wish_that_is_no_number_is_the_usual_time(text: str) -> None:
    wish = {"CHECK_IMMUNITY_TIME_IN_SECONDS": text}
    assert due(half(wish, age=6000)) is Due.LATER
    assert due(half(wish, age=6001)) is Due.QUESTION


def test_after_so_many_questions_it_is_given_up() -> None:
    assert due(half({"TRANSACTION_CHECK_TIMES": "14"}, age=9000)) is Due.QUESTION
    assert due(half({"TRANSACTION_CHECK_TIMES": "15"}, age=9000)) is Due.GIVING_UP
    assert due(half({"TRANSACTION_CHECK_TIMES": "x"}, age=9000)) is Due.QUESTION


def test_half_message_older_than_retention_is_discarded() -> None:
    assert due(half(age=72 * HOUR)) is Due.QUESTION
    assert due(half(age=72 * HOUR + 1)) is Due.GIVING_UP
    assert due(half({"CHECK_IMMUNITY_TIME_IN_SECONDS": "999999"}, age=72 * HOUR + 1)) is Due.GIVING_UP


def test_only_who_asked_for_time_can_be_late() -> None:
    wish = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "10"}
    assert not half(age=HOUR).is_overdue(NOW, 6000)
    assert not half(wish, age=10_000).is_overdue(NOW, 6000)
    assert half(wish, age=10_001).is_overdue(NOW, 6000)
    assert not half(wish, age=10_001).is_overdue(NOW, 20_000)
