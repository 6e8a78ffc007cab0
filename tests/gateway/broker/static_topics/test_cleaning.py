"""Cleaning of static topics."""

from datetime import datetime

import pytest

from mqgateway.gateway.broker.static_topics.cleaning import clean, is_time
from tests.support.gateway.broker.clusters import TOPIC, Cluster
from tests.support.gateway.broker.helpers import MemoryBroker


def moved(*names: str) -> Cluster:
    """One queue that went from broker to broker, with a message on each."""
    brokers = Cluster("a", "b", "c")
    brokers.create(names[0])
    brokers.fill(names[0], b"x")
    for name in names[1:]:
        brokers.move(0, name)
        brokers.fill(name, b"x")
    return brokers


def clean_all(brokers: Cluster) -> dict[str, list[str]]:
    """The brokers of the queue's mapping items, as each broker knows them after a round."""
    for member in brokers.brokers.values():
        done: list[object] = []
        clean(member.broker).addCallback(done.append)
        assert done == [None]
    tables = {
        name: member.broker.tables.mappings.table[TOPIC].queues for name, member in brokers.brokers.items()
    }
    return {name: [item.broker_name for item in queues[0]] for name, queues in tables.items() if 0 in queues}


def test_item_that_moved_on_is_removed_by_its_first_broker() -> None:
    brokers = moved("a", "b", "c")
    assert clean_all(brokers) == {"b": ["a", "b", "c"], "c": ["a", "b", "c"]}
    assert brokers.read("c") == [(0, b"x"), (10_000, b"x"), (20_000, b"x")]


def test_first_item_without_messages_is_removed() -> None:
    brokers = moved("a", "b")
    brokers["a"].broker.store.admin.delete_topics([TOPIC])
    assert clean_all(brokers) == {"a": ["a", "b"], "b": ["b"]}
    assert brokers.read("b", 0) == [(10_000, b"x")]


def test_own_first_item_is_checked_locally() -> None:
    brokers = moved("a", "b", "a")
    brokers["a"].broker.store.admin.delete_topics([TOPIC])
    assert clean_all(brokers)["a"] == ["b", "a"]


def test_items_of_unreachable_brokers_are_kept() -> None:
    brokers = moved("a", "b", "c")
    brokers["a"].broker.store.admin.delete_topics([TOPIC])
    brokers.down = {"a", "c"}
    assert clean_all(brokers) == {"a": ["a", "b"], "b": ["a", "b", "c"], "c": ["a", "b", "c"]}


def test_leader_in_another_state_is_ignored() -> None:
    brokers = moved("a", "b", "c")
    mapping = brokers["c"].broker.tables.mappings.table[TOPIC]
    mapping.epoch += 1
    assert "a" in clean_all(brokers)


def test_mapping_that_was_not_moved_is_kept() -> None:
    brokers = moved("a")
    brokers["a"].broker.store.admin.delete_topics([TOPIC])
    assert clean_all(brokers) == {"a": ["a"]}


@pytest.mark.parametrize(("hours", "expected"), [("{}", True), ("x; {} ", True), ("", False), ("99", False)])
def test_hours_are_those_of_deletion_of_files(hours: str, expected: bool) -> None:
    broker = MemoryBroker()
    hour = datetime.fromtimestamp(broker.clock.millis() / 1000).hour
    broker.store_options.delete_when = hours.format(hour)
    assert is_time(broker.broker) is expected
