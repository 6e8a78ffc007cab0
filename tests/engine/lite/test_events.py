"""The choice of clients that are notified of messages in lite topics."""

import pytest

from mqgateway.engine.lite.subscriptions import Subscriber
from tests.support.engine.lite.worlds import PARENT, World, queue


def test_one_client_of_each_group_is_notified_once_until_it_polls() -> None:
    world = World()
    world.bind("H")
    world.add("c1", "a", "b")
    world.add("c2", "a")
    world.add("d1", "a", group="H")
    world.send("b", "a", "a")
    assert world.woken == ["c1", "c1", "d1", "c1", "d1"]
    assert (world.take("c1"), world.take("c2"), world.take("d1")) == (["b", "a"], [], ["a"])
    assert world.take("c1") == []


def test_queue_given_back_comes_first_the_next_time() -> None:
    world = World()
    world.add("c1", "a", "b", "c")
    world.send("a", "b", "c")
    events = world.events
    assert next(iter(events.take("c1", PARENT))) == queue("a")
    events.give_back("c1", queue("a"))
    events.give_back("c9", queue("a"))
    assert world.take("c1") == ["a", "b", "c"]


def test_new_subscriber_is_notified_of_stored_messages() -> None:
    world = World()
    world.send("a")
    world.add("c1", "a", "b")
    assert world.take("c1") == ["a"]


def test_full_client_is_notified_of_the_rest_later() -> None:
    world = World()
    world.bind("F", client_max_event_cnt="10")
    names = [f"n{number}" for number in range(12)]
    world.add("c1", *names, group="F")
    world.send(*names)
    assert world.take("c1") == names[:10]
    for name in names[:10]:
        world.offsets.commit("F", queue(name), 0, 1)
    world.tick(9_999)
    assert world.take("c1") == []
    world.tick(1)
    assert sorted(world.take("c1")) == ["n10", "n11"]


def test_events_of_a_silent_client_go_to_another() -> None:
    world = World()
    world.add("c1", "a")
    world.add("c2", "a")
    world.send("a")
    world.tick(10_001)
    assert world.take("c1") == []
    assert world.take("c2") == ["a"]
    world.send("a")
    assert (world.take("c1"), world.take("c2")) == ([], ["a"])


def test_silent_client_without_others_keeps_its_events() -> None:
    world = World()
    world.add("c1", "a")
    world.send("a")
    world.tick(10_001)
    assert world.take("c1") == ["a"]


def test_events_of_a_removed_client_go_to_another() -> None:
    world = World()
    world.add("c1", "a")
    world.add("c2", "a")
    world.send("a")
    world.subscriptions.remove_client("c1")
    assert world.take("c2") == ["a"]
    assert world.events.last_pop("c1") == -1
    assert world.events.last_pop("c2") == world.clock.millis()


def test_clients_of_a_wildcard_group_share_all_there_is() -> None:
    world = World()
    world.bind("W", wildcard="true")
    world.send("a", "b")
    world.replace("c1", group="W")
    assert world.take("c1") == []
    world.tick(5_000)
    assert world.take("c1") == ["a", "b"]
    world.send("c")
    assert world.take("c1") == ["c"]
    world.events.dispatch_group("W")
    assert world.take("c1") == ["a", "b", "c"]


def test_group_is_notified_again_on_request() -> None:
    world = World()
    world.add("c1", "a", "b", "c")
    world.send("a", "b")
    world.take("c1")
    world.offsets.commit("G", queue("a"), 0, 1)
    world.events.dispatch_group("G")
    assert world.take("c1") == ["b"]
    world.events.dispatch_all(Subscriber("none", "G"))
    assert world.take("none") == []


def test_without_events_a_client_looks_through_all_it_subscribes_to() -> None:
    world = World(enable_lite_event_mode=False)
    world.add("c1", "a", "b")
    world.send("a")
    assert world.woken == []
    assert sorted(world.take("c1")) == ["a", "b"]
    assert world.take("none") == []


def test_take_leaves_queues_of_another_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client id is no secret: a request that names one gets only queues of the parent it names."""
    world = World()
    world.add("c1", "a")
    world.send("a")
    for is_by_event in (True, False):
        monkeypatch.setattr(world.options, "enable_lite_event_mode", is_by_event)
        assert list(world.events.take("c1", "Other")) == []
        assert world.take("c1") == ["a"]
