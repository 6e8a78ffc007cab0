"""Counts of messages in flight."""

from mqgateway.engine.pop.inflight import InFlight

KEY = ("t", "g", 0)


def test_popped_messages_count_until_removed() -> None:
    counts = InFlight(1000, 10)
    counts.add(KEY, 3)
    counts.remove(KEY, 1, 1000)
    assert counts.count(KEY) == 2 and list(counts.items()) == [(KEY, 2)]
    counts.remove(KEY, 5, 1000)
    assert counts.count(KEY) == 0
    assert len(counts) == 0


def test_messages_popped_before_start_are_not_subtracted() -> None:
    counts = InFlight(1000, 10)
    counts.add(KEY, 3)
    counts.remove(KEY, 3, 999)
    assert counts.count(KEY) == 3


def test_the_counts_are_bounded() -> None:
    counts = InFlight(0, 1)
    counts.add(KEY, 1)
    counts.add(("t", "g", 1), 1)
    counts.add(("t", "g", 2), 0)
    assert len(counts) == 1


def test_a_group_can_be_forgotten() -> None:
    counts = InFlight(0, 10)
    counts.add(KEY, 1)
    counts.add(("t", "h", 0), 1)
    counts.forget(lambda key: key[1] == "g")
    assert (counts.count(KEY), counts.count(("t", "h", 0))) == (0, 1)
