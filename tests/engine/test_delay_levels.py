"""Messages with a delay level are rewritten, others stay as they are."""

from typing import Any

import pytest

from mqgateway.engine.delay_levels import DelayLevels, restored, topics_of
from mqgateway.engine.errors import ConfigError, MessageIllegal
from mqgateway.engine.message import SCHEDULE_TOPIC, Message, StoredMessage, SysFlag, pack_host

HOST = pack_host("127.0.0.1", 10911)
STANDARD = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


def message(level: int | str | None, **given: Any) -> Message:
    properties = {"KEYS": "k", "TAGS": "red"} | given.pop("properties", {})
    if level is not None:
        properties["DELAY"] = str(level)
    return Message("orders", 2, b"hello", properties, 1_700_000_000_000, HOST, HOST, **given)


def test_restored_message_is_the_one_sent() -> None:
    stored = StoredMessage("orders", 2, b"hello", {}, 5, HOST, HOST, flag=7, reconsume_times=2)
    stored.properties = message(3).properties
    assert DelayLevels(STANDARD).rewrite(stored)
    assert stored.topic == SCHEDULE_TOPIC
    one = restored(stored)
    assert (one.topic, one.queue_id, one.body, one.flag, one.reconsume_times) == ("orders", 2, b"hello", 7, 2)
    assert one.properties == stored.properties


@pytest.mark.parametrize(("first", "topics"), [(None, ("orders",)), ("t", ("orders", "t"))])
def test_retry_belongs_to_both_topics(first: str | None, topics: tuple[str, ...]) -> None:
    assert topics_of(message(1, properties={} if first is None else {"RETRY_TOPIC": first})) == topics


def test_levels_are_read_in_their_units() -> None:
    levels = DelayLevels("1s 5m 2h 1d")
    assert levels.max_level == 4
    assert [levels.delay(level) for level in (1, 2, 3, 4)] == [1000, 300_000, 7_200_000, 86_400_000]
    assert levels.delay(5) == 1000, "a level that is none"
    assert DelayLevels(STANDARD).max_level == 18


@pytest.mark.parametrize("text", ["", " ", "1", "s", "1x", "1.5s", "-1s"])
def test_other_text_raises(text: str) -> None:
    with pytest.raises(ConfigError, match="messageDelayLevel"):
        DelayLevels(text)


def test_delayed_message_goes_to_the_queue_of_its_level() -> None:
    one = message(3, properties={"TIMER_DELAY_SEC": "9", "TIMER_DELAY_MS": "9", "TIMER_DELIVER_MS": "9"})
    assert DelayLevels(STANDARD).rewrite(one)
    assert (one.topic, one.queue_id) == (SCHEDULE_TOPIC, 2)
    assert one.properties == {
        "KEYS": "k",
        "TAGS": "red",
        "DELAY": "3",
        "REAL_TOPIC": "orders",
        "REAL_QID": "2",
    }


@pytest.mark.parametrize(
    ("text", "level"), [("18", 18), ("19", 18), ("999999999", 18), ("+4", 4), ("007", 7)]
)
def test_levels_beyond_the_last_are_the_last(text: str, level: int) -> None:
    one = message(text)
    assert DelayLevels(STANDARD).rewrite(one)
    assert (one.queue_id, one.properties["DELAY"]) == (level - 1, str(level))


@pytest.mark.parametrize("level", [None, 0, -1])
def test_message_without_delay_is_unchanged(level: int | None) -> None:
    one = message(level)
    before = dict(one.properties)
    assert not DelayLevels(STANDARD).rewrite(one)
    assert (one.topic, one.queue_id, one.properties) == ("orders", 2, before)


@pytest.mark.parametrize("text", ["x", "", "1.5", " 3", "3_0", "٣", "9" * 40])
def test_delay_that_is_no_number_raises(text: str) -> None:
    with pytest.raises(MessageIllegal, match="DELAY="):
        DelayLevels(STANDARD).rewrite(message(text))


@pytest.mark.parametrize(
    ("kind", "is_delayed"),
    [
        (SysFlag.TRANSACTION_COMMIT, True),
        (SysFlag.TRANSACTION_PREPARED, False),
        (SysFlag.TRANSACTION_ROLLBACK, False),
    ],
)
def test_open_transactions_are_not_delayed(kind: int, is_delayed: bool) -> None:
    assert DelayLevels(STANDARD).rewrite(message(3, sys_flag=kind)) is is_delayed
