"""Messages that were not consumed, of every kind."""

from __future__ import annotations

from mqgateway.engine.steps import run
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.unread import Unread, UnreadKind, unread
from tests.support.gateway.broker.helpers import MemoryBroker


def broker_with(*groups: str, messages: int = 3) -> MemoryBroker:
    host = MemoryBroker()
    host.add_topic("T", queues=2)
    host.broker.tables.groups.put(*[SubscriptionGroupConfig(group_name=group) for group in groups])
    for _ in range(messages):
        host.send("T")
    return host


def found(host: MemoryBroker) -> list[Unread]:
    entries: list[Unread] = []
    run(unread(host.broker, entries))
    return entries


def test_lag_counts_for_each_group() -> None:
    host = broker_with("G", "done")
    host.broker.tables.offsets.commit("G", "T", 0, 1)
    host.broker.tables.offsets.commit("done", "T", 0, 3)
    assert found(host) == [Unread(UnreadKind.LAG, "T", "G", 2)]


def test_empty_broker_has_nothing_left() -> None:
    host = broker_with("G")
    host.broker.tables.offsets.commit("G", "T", 0, 3)
    assert found(host) == []


def test_queues_without_a_commit_are_read_by_no_group() -> None:
    host = broker_with("G")
    assert found(host) == [Unread(UnreadKind.NO_GROUP, "T", "", 3)]
    host.broker.tables.offsets.commit("deleted group", "T", 0, 3)
    host.broker.tables.offsets.commit("G", "T", 1, 0)
    assert found(host) == [Unread(UnreadKind.NO_GROUP, "T", "", 3)]


def test_dead_letters_are_named_so() -> None:
    host = broker_with("G", messages=0)
    host.add_topic("%DLQ%G", queues=1)
    host.send("%DLQ%G")
    assert found(host) == [Unread(UnreadKind.DEAD, "%DLQ%G", "", 1)]


def test_popped_messages_count_until_they_are_acknowledged() -> None:
    host = broker_with("G", messages=0)
    in_flight = host.broker.pop.log.in_flight
    in_flight.add(("T", "G", 0), 2)
    in_flight.add(("T", "G", 1), 1)
    assert found(host) == [Unread(UnreadKind.POPPED, "T", "G", 3)]
    in_flight.forget(lambda key: True)
    assert found(host) == []


def test_delayed_messages_count_until_they_are_delivered() -> None:
    host = broker_with("G", messages=0)
    host.broker.tables.offsets.commit("G", "T", 0, 0)
    host.send("T", properties={"DELAY": "1"})
    assert [one.kind for one in found(host)] == [UnreadKind.DELAYED]
    host.clock.advance(1000)
    host.broker.delays.tick(host.clock.millis())
    assert found(host) == [Unread(UnreadKind.LAG, "T", "G", 1)]


def test_open_half_messages_count() -> None:
    host = broker_with("G", messages=0)
    host.broker.transactions.counts.add("T", 1)
    assert found(host) == [Unread(UnreadKind.HALF, "T", "", 1)]
    host.broker.transactions.counts.add("T", -1)
    assert found(host) == []
