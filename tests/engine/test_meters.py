import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine import meters as meters_module
from mqgateway.engine.meters import SETTLED_A_STEP, Counter, Histogram, MessageSizes, Meters


def test_counter_distinguishes_labels_up_to_its_limit() -> None:
    counter = Counter(2)
    for name in ("a", "b", "c", "a"):
        counter.add((name,), 3)
    assert counter.table == {("a",): 6, ("b",): 3}
    assert counter.overflow == 3


def test_a_histogram_counts_what_is_not_above_a_bound() -> None:
    histogram = Histogram((10, 100), 1)
    for value in (0, 10, 11, 100, 101):
        histogram.record(("a",), value)
    histogram.record(("b",), 7, times=2)
    assert histogram.table[("a",)].counts == [2, 2, 1]
    assert histogram.table[("a",)].sum == 222
    assert histogram.overflow.counts == [2, 0, 0]
    assert histogram.overflow.sum == 14


def test_a_batch_counts_its_messages_and_their_mean_size() -> None:
    meters = Meters(10)
    meters.put("T", "normal", 4, 4000)
    incoming = meters.incoming["T", "normal"]
    assert (incoming.messages, incoming.size, incoming.sum) == (4, 4000, 1000)
    assert incoming.counts == [1, 0, 0, 0, 0, 0, 0]
    meters.put("T", "fifo", 1, 5000)
    assert meters.incoming["T", "fifo"].counts == [0, 0, 1, 0, 0, 0, 0]


@given(st.lists(st.integers(0, 5_000_000)), st.integers(1, 5))
def test_noted_sizes_are_settled_as_if_each_had_been_put(sizes: list[int], a_step: int) -> None:
    noted, put = MessageSizes(), MessageSizes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meters_module, "SETTLED_A_STEP", a_step)
        for size in sizes:
            noted.sizes.append(size)
            put.put(1, size)
        while noted.sizes:
            noted.settle()
    assert (noted.messages, noted.size, noted.sum) == (put.messages, put.size, put.sum)
    assert noted.counts == put.counts


def test_many_noted_sizes_are_settled_in_steps() -> None:
    meters = Meters(10)
    noted = meters.incoming_of("T", "normal").sizes
    noted += [700] * (2 * SETTLED_A_STEP + 1)
    meters.incoming_of("U", "normal").sizes.append(5000)
    assert sum(1 for _ in meters.settle()) == 5
    assert meters.incoming["T", "normal"].counts[0] == 2 * SETTLED_A_STEP + 1
    assert meters.incoming["U", "normal"].size == 5000
    assert not noted


def test_topics_beyond_the_limit_are_counted_together() -> None:
    meters = Meters(1)
    for topic in ("T", "U", "V", "T"):
        meters.put(topic, "normal", 2, 100)
    assert meters.incoming["T", "normal"].messages == 4
    assert meters.incoming_overflow.messages == 4
    assert len(meters.incoming) == 1


def test_deleted_topic_or_group_is_forgotten() -> None:
    meters = Meters(10)
    for topic in ("T", "U"):
        meters.put(topic, "normal", 1, 1)
        meters.popped(topic, "G", 1, 1)
        meters.dead_letters.add(("G", topic))
        meters.revive_in.add(("G", topic, "CK", "PUT_OK"))
        meters.timer_enqueued(topic, 61_000)
    meters.topic_deleted("T")
    assert set(meters.incoming) == {("U", "normal")}
    assert set(meters.dead_letters.table) == {("G", "U")}
    assert set(meters.delay_latency.table) == {("U",)}
    meters.group_deleted("G")
    assert not meters.messages_popped.table
    assert not meters.dead_letters.table
    assert not meters.revive_in.table
    assert meters.incoming
