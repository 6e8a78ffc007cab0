"""Subscriptions of clients to lite topics."""

import pytest

from mqgateway.engine.lite.subscriptions import (
    FIRST,
    NotForWildcards,
    Subscriber,
    SubscriptionQuotaExceeded,
    SubscriptionStart,
)
from tests.support.engine.lite.worlds import PARENT, World, queue


def readers(world: World, name: str) -> dict[str, list[str]]:
    found = world.subscriptions.readers(queue(name))
    return {group: [one.client_id for one in ones] for group, ones in found.items()}


def test_clients_add_remove_and_replace() -> None:
    world = World()
    world.add("c1", "a", "b")
    world.add("c2", "b")
    assert readers(world, "b") == {"G": ["c1", "c2"]}
    world.subscriptions.remove(Subscriber("c1", "G"), [queue("b"), queue("none")], 0)
    assert readers(world, "b") == {"G": ["c2"]}
    world.replace("c1", "c")
    assert (readers(world, "a"), readers(world, "c")) == ({}, {"G": ["c1"]})
    assert (world.subscriptions.count, world.subscriptions.clients_of("G")) == (2, ["c1", "c2"])
    world.subscriptions.remove_client("c1")
    world.subscriptions.remove_queue(queue("b"))
    assert world.subscriptions.count == 0
    own = world.subscriptions.of("c2")
    assert own is not None and not own.queues


def test_a_wildcard_group_reads_everything_and_subscribes_to_nothing_single() -> None:
    world = World()
    world.bind("W", wildcard="true")
    world.replace("c1", group="W")
    world.add("c2", "a")
    assert readers(world, "a") == {"G": ["c2"], "W": ["c1"]}
    assert readers(world, "z") == {"W": ["c1"]}
    assert world.subscriptions.readers(queue("a"), "W") == {"W": [Subscriber("c1", "W")]}
    with pytest.raises(NotForWildcards):
        world.add("c1", "a", group="W")
    world.subscriptions.remove_client("c1")
    assert readers(world, "z") == {}


def test_a_lite_topic_of_an_exclusive_group_has_the_last_client() -> None:
    world = World()
    world.bind("E", model="Exclusive", reset_offset_exclusive="true")
    world.add("c1", "a", group="E")
    world.add("c2", "a", group="E")
    world.add("c2", "a", group="E")
    assert readers(world, "a") == {"E": ["c2"]}
    assert world.excluded == [("c1", queue("a"))]
    assert world.restarts == [("E", queue("a"), FIRST)]


def test_subscription_may_say_where_to_begin_and_start_over_when_it_ends() -> None:
    world = World()
    world.bind("R", reset_offset_unsubscribe="true")
    world.add("c1", "a", group="R", start=SubscriptionStart("OFFSET", 7))
    world.subscriptions.remove(Subscriber("c1", "R"), [queue("a")], 0)
    assert world.restarts == [("R", queue("a"), SubscriptionStart("OFFSET", 7)), ("R", queue("a"), FIRST)]


def test_there_are_no_more_than_allowed() -> None:
    world = World(max_lite_subscription_count=2)
    world.add("c1", "a", "b")
    with pytest.raises(SubscriptionQuotaExceeded, match="lite subscription quota exceeded 2"):
        world.add("c1", "c")
    with pytest.raises(SubscriptionQuotaExceeded):
        world.replace("c2", "a")
    world.replace("c1", "a", "b")
    assert world.subscriptions.count == 2


def test_a_client_of_another_group_is_another_client() -> None:
    world = World()
    world.bind("H")
    world.add("c1", "a")
    world.add("c1", "b", group="H")
    assert (readers(world, "a"), readers(world, "b")) == ({}, {"H": ["c1"]})


def test_a_silent_client_is_forgotten() -> None:
    world = World()
    world.add("c1", "a")
    world.tick(180_000)
    assert len(world.subscriptions) == 1
    world.replace("c1", "a")
    world.tick(180_000)
    assert len(world.subscriptions) == 1
    world.tick(1)
    assert len(world.subscriptions) == 0
    assert world.subscriptions.of("c1") is None
    assert PARENT in world.topics


def test_every_watcher_is_notified_of_additions_and_departures() -> None:
    world, seen = World(), list[str]()
    for _ in range(2):
        world.subscriptions.watch_additions(lambda subscriber, name: seen.append(f"{subscriber[0]} {name}"))
        world.subscriptions.watch_departures(lambda subscriber: seen.append(f"{subscriber[0]} left"))
    world.add("c1", "a")
    world.add("c1", "a")
    world.subscriptions.remove_client("c1")
    world.subscriptions.remove_client("c1")
    assert seen == [f"c1 {queue('a')}"] * 2 + ["c1 left"] * 2
