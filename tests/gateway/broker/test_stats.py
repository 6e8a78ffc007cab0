"""Counts and their rates over a minute, an hour and a day."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import (
    NORMAL,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_SHARDING_KEY,
    PROPERTY_TRANSACTION_PREPARED,
    message_type,
)
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.broker.stats import (
    BROKER_GET_NUMS,
    BROKER_PUT_NUMS,
    BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC,
    GROUP_GET_NUMS,
    GROUP_GET_SIZE,
    QUEUE_PUT_NUMS,
    SECONDS_STEP,
    SNDBCK_PUT_NUMS,
    TOPIC_PUT_NUMS,
    TOPIC_PUT_SIZE,
    BrokerStats,
    Samples,
)

NOON = int(datetime(2024, 5, 6, 12).timestamp() * 1000)
CLUSTER = "DefaultCluster"


@pytest.fixture
def stats() -> BrokerStats:
    return BrokerStats(BrokerOptions(), NOON)


@pytest.mark.parametrize(
    ("name", "key", "value", "times"),
    [
        (TOPIC_PUT_NUMS, "T", 3, 2),
        (TOPIC_PUT_SIZE, "T", 500, 2),
        (GROUP_GET_NUMS, "T@G", 32, 1),
        (GROUP_GET_SIZE, "T@G", 4000, 1),
        (SNDBCK_PUT_NUMS, "T@G", 1, 1),
        (BROKER_PUT_NUMS, CLUSTER, 4, 0),
        (BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC, CLUSTER, 3, 0),
        (BROKER_GET_NUMS, CLUSTER, 32, 0),
    ],
)
def test_counts_by_name_and_key(stats: BrokerStats, name: str, key: str, value: int, times: int) -> None:
    stats.put("T", 1, 100)
    stats.put("T", 2, 400)
    stats.put("SCHEDULE_TOPIC_XXXX", 1, 50)
    stats.got("G", "T", 32, 4000)
    stats.sent_back("G", "T")
    count = stats.item(name, key)
    assert count is not None
    assert (count.value, count.times) == (value, times)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        (GROUP_GET_NUMS, "SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER", 1),
        (GROUP_GET_SIZE, "SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER", 100),
        (BROKER_GET_NUMS, CLUSTER, 0),
        (TOPIC_PUT_NUMS, "T", 1),
        (TOPIC_PUT_SIZE, "T", 100),
        (BROKER_PUT_NUMS, CLUSTER, 1),
        (BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC, CLUSTER, 1),
        (TOPIC_PUT_NUMS, "SCHEDULE_TOPIC_XXXX", 1),
        (TOPIC_PUT_SIZE, "SCHEDULE_TOPIC_XXXX", 50),
    ],
)
def test_delayed_messages_are_counted(stats: BrokerStats, name: str, key: str, value: int) -> None:
    """A message sent back waits, then is delivered: only that is one of the broker's puts."""
    stats.delayed_again(50)
    stats.delivered("T", 100)
    count = stats.item(name, key)
    assert count is not None
    assert count.value == value


def test_system_topics_of_this_broker_are_left_out_of_the_totals_of_users() -> None:
    stats = BrokerStats(BrokerOptions(), NOON, lambda topic: topic == "DefaultCluster_REPLY_TOPIC")
    stats.put("DefaultCluster_REPLY_TOPIC", 1, 10)
    stats.got("G", "DefaultCluster_REPLY_TOPIC", 1, 10)
    stats.put("T", 1, 10)
    assert (stats.put_total, stats.get_total) == (1, 0)


def test_records_of_batches_are_counted_among_all_messages() -> None:
    stats = BrokerStats(BrokerOptions(), NOON, lambda topic: topic == "__consumer_offsets")
    stats.put("T", 2, 10)
    stats.put_batch("T", 3, 30)
    stats.put_batch("__consumer_offsets", 4, 40)
    assert (stats.put_total, stats.batch_put_total) == (5, 3)
    item = stats.item(TOPIC_PUT_NUMS, "T")
    assert item is not None and item.value == 5


def test_unknown_count_has_no_item(stats: BrokerStats) -> None:
    assert stats.item(TOPIC_PUT_NUMS, "T") is None
    assert stats.item("NO_SUCH_NAME", "T") is None
    assert (stats.put_tps("T"), stats.get_tps("G", "T")) == (0.0, 0.0)


def test_a_minute_is_six_steps_of_ten_seconds(stats: BrokerStats) -> None:
    """Ten puts a second: the rate is steady from the first step, and the sum settles at a minute's worth."""
    for step in range(1, 20):
        for _ in range(10):
            stats.put("T", 10, 1000)
        run(stats.tick(NOON + step * 10_000, step * 10_000))
    count = stats.item(TOPIC_PUT_NUMS, "T")
    assert count is not None
    rate = count.minute.rate()
    assert (rate.sum, rate.tps, rate.avgpt) == (600, 10.0, 10.0)
    assert stats.put_tps("T") == 10.0


def test_first_sample_counts_from_zero(stats: BrokerStats) -> None:
    stats.put("T", 50, 1000)
    run(stats.tick(NOON + 10_000, 10_000))
    assert stats.put_tps("T") == 5.0


@given(st.lists(st.integers(0, 2), max_size=40).map(lambda grown: [*grown, *[0] * 9, 1]))
def test_skipped_samples_do_not_change_the_rate(grown: list[int]) -> None:
    past, value = Samples(SECONDS_STEP, 7), 0
    notes = [(0, 0)]
    for step, more in enumerate(grown, 1):
        value += more
        past.add(step * SECONDS_STEP, value, value)
        notes = [*notes, (step * SECONDS_STEP, value)][-7:]
        (first, before), (last, after) = notes[0], notes[-1]
        rate = past.rate()
        assert (rate.sum, rate.tps) == (after - before, (after - before) * 1000 / (last - first))


def test_many_counts_are_sampled_cooperatively() -> None:
    stats = BrokerStats(BrokerOptions(), NOON)
    for number in range(1000):
        stats.put(f"T{number}", 1, 1)
    steps = stats.tick(NOON, 0)
    next(steps)
    stats.put("new", 1, 1)
    assert sum(1 for _ in steps) > 50
    assert stats.put_tps("T999") == 0.1


@pytest.mark.parametrize(("past", "step"), [("minute", 10_000), ("hour", 600_000), ("day", 3_600_000)])
def test_each_span_has_its_own_step(stats: BrokerStats, past: str, step: int) -> None:
    run(stats.tick(NOON, 0))
    stats.put("T", 7, 1)
    count = stats.item(TOPIC_PUT_NUMS, "T")
    assert count is not None
    run(stats.tick(NOON + step - 1, step - 1))
    assert getattr(count, past).rate().sum == 0
    run(stats.tick(NOON + step, step))
    assert getattr(count, past).rate().sum == 7


def test_totals_of_the_morning_are_noted_at_midnight(stats: BrokerStats) -> None:
    stats.put("T", 5, 1)
    stats.got("G", "T", 2, 1)
    run(stats.tick(NOON + 24 * 3_600_000, 24 * 3_600_000))
    stats.put("T", 4, 1)
    assert (stats.put_total_yesterday_morning, stats.put_total_today_morning, stats.put_total) == (0, 5, 9)
    assert (stats.get_total_yesterday_morning, stats.get_total_today_morning, stats.get_total) == (0, 2, 2)
    run(stats.tick(NOON + 48 * 3_600_000, 48 * 3_600_000))
    assert (stats.put_total_yesterday_morning, stats.put_total_today_morning) == (5, 9)


def test_deleted_topic_loses_its_counts(stats: BrokerStats) -> None:
    for topic in ("T", "TT"):
        stats.put(topic, 1, 1)
        stats.got("G", topic, 1, 1)
        stats.sent_back("G", topic)
    stats.topic_deleted("T")
    assert stats.item(TOPIC_PUT_NUMS, "T") is None
    assert stats.item(GROUP_GET_NUMS, "T@G") is None
    assert stats.item(SNDBCK_PUT_NUMS, "T@G") is None
    assert stats.item(GROUP_GET_NUMS, "TT@G") is not None
    stats.put("T", 2, 1)
    count = stats.item(TOPIC_PUT_NUMS, "T")
    assert count is not None
    assert count.value == 2
    assert stats.put_total == 4


def test_deleted_group_loses_its_counts(stats: BrokerStats) -> None:
    stats.got("G", "T", 1, 1)
    stats.got("GG", "T", 1, 1)
    stats.group_deleted("G")
    assert stats.item(GROUP_GET_NUMS, "T@G") is None
    assert stats.item(GROUP_GET_NUMS, "T@GG") is not None


def test_keys_beyond_the_limit_count_in_the_totals_only() -> None:
    stats = BrokerStats(BrokerOptions(max_stats_keys=1), NOON)
    for topic in ("T", "U", "U"):
        stats.put(topic, 1, 1)
    assert stats.item(TOPIC_PUT_NUMS, "U") is None
    assert stats.put_total == 3


PLAIN = st.tuples(st.sampled_from("TUV"), st.integers(0, 1000), st.sampled_from(["", "settle", "delete"]))


@given(st.lists(PLAIN), st.integers(1, 3))
def test_plain_messages_are_counted_as_if_each_had_been_put(
    sends: list[tuple[str, int, str]], keys: int
) -> None:
    stats, expected = (BrokerStats(BrokerOptions(max_stats_keys=keys), NOON) for _ in range(2))
    for topic, size, then in sends:
        stats.put_plain(topic, size)
        expected.put(topic, 1, size)
        if then == "delete":
            stats.topic_deleted(topic)
            expected.topic_deleted(topic)
        elif then:
            stats.settle()
    assert stats.put_total == expected.put_total == len(sends)
    for name in (TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, BROKER_PUT_NUMS):
        found, right = (
            {key: (count.value, count.times) for key, count in one.table(name).items()}
            for one in (stats, expected)
        )
        assert found == right


@pytest.mark.parametrize(
    "read",
    [
        lambda stats: stats.put_total,
        lambda stats: stats.table(TOPIC_PUT_NUMS)["T"].value,
        lambda stats: stats.item(TOPIC_PUT_NUMS, "T").value,
    ],
)
def test_read_settles_the_counts(stats: BrokerStats, read: Callable[[BrokerStats], int]) -> None:
    for number in range(1, 4):
        stats.put_plain("T", 100)
        assert read(stats) == number


def test_sample_includes_noted_messages(stats: BrokerStats) -> None:
    for _ in range(20):
        stats.put_plain("T", 100)
    run(stats.tick(NOON, SECONDS_STEP))
    assert stats.put_tps("T") == 2


def test_details_can_change_while_counts_are_sampled(stats: BrokerStats) -> None:
    stats.put("T", 1, 100)
    steps = stats.tick(NOON, SECONDS_STEP)
    next(steps)
    stats.add("QUEUE_PUT_NUMS", "T@0", 1)
    next(steps)
    stats.forget_details()
    run(steps)
    assert stats.item("TOPIC_PUT_NUMS", "T") is not None


PROPERTIES = st.dictionaries(
    st.sampled_from(
        [PROPERTY_KEYS, PROPERTY_DELAY_TIME_LEVEL, PROPERTY_SHARDING_KEY, PROPERTY_TRANSACTION_PREPARED]
    ),
    st.sampled_from(["true", "1"]),
)
SENDS = st.tuples(
    st.sampled_from("TUV"), PROPERTIES, st.integers(1, 3), st.integers(0, 5_000_000), st.booleans()
)


@given(st.lists(SENDS), st.integers(1, 3))
def test_metrics_count_each_send(sends: list[tuple[Any, ...]], keys: int) -> None:
    """As if each had been counted by itself, whatever is kept to do it quickly."""
    stats, reported, expected = BrokerStats(BrokerOptions(max_stats_keys=keys), NOON), Meters(3), Meters(3)
    stats.count_with(reported)
    for topic, properties, messages, size, is_deleted in sends:
        if messages == 1 and message_type(properties) == NORMAL:
            stats.put_plain(topic, size)
        else:
            stats.put(topic, messages, size, properties)
        stats.put(topic, 1, 7)  # not sent by anybody
        expected.put(topic, message_type(properties), messages, size)
        if is_deleted:
            stats.topic_deleted(topic)
            expected.topic_deleted(topic)
    run(stats.tick(NOON, SECONDS_STEP))
    assert list(reported.incoming) == list(expected.incoming)
    pairs = zip(reported.incoming.values(), expected.incoming.values(), strict=True)
    for found, right in (*pairs, (reported.incoming_overflow, expected.incoming_overflow)):
        assert (found.messages, found.size, found.sum) == (right.messages, right.size, right.sum)
        assert found.counts == right.counts
        assert not found.sizes


def test_unchanged_count_is_marked() -> None:
    samples = Samples(1000, 3)
    stood = [samples.stands]
    for second, value in enumerate((5, 5, 5, 5, 6, 6)):
        samples.add(second * 1000, value, value)
        stood.append(samples.stands)
        assert samples.stands == (samples.rate().sum == 0)
    assert stood == [True, False, False, True, True, False, False]


def test_every_watcher_is_notified_of_queries_of_detailed_counts() -> None:
    stats, seen = BrokerStats(BrokerOptions(), NOON), list[int]()
    stats.watch_details(lambda: seen.append(1))
    stats.watch_details(lambda: seen.append(2))
    assert stats.item(TOPIC_PUT_NUMS, "T") is None and seen == []
    assert stats.item(QUEUE_PUT_NUMS, "T@0") is None and seen == [1, 2]
