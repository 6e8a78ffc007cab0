"""Consumer groups of all brokers in one list."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations.other_brokers import OtherBrokerOperations
from mqgateway.gateway.doctor.checks import IDLE_MILLIS
from mqgateway.gateway.remoting.call import RequestError
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.console import ConsoleBrowser
from tests.support.gateway.console_cluster import ClusterWorld, cluster_console
from tests.support.gateway.coordinated import OneGroup, kafka_group


@pytest.fixture
def browser() -> ConsoleBrowser:
    """`G` has a lag of 2 here and of 1 there, one member at both brokers and one there."""
    made = cluster_console(lost=False)
    world = made.world
    assert isinstance(world, ClusterWorld)
    for memory in (world.memory, world.other):
        memory.add_topic("T", queues=1)
        memory.broker.tables.groups.put(SubscriptionGroupConfig("G"))
        memory.broker.tables.offsets.commit("G", "T", 0, 1)
        memory.subscribe("G", "T")
    world.other.broker.tables.groups.put(SubscriptionGroupConfig("There"))
    world.other.subscribe("G", "T", peer=FakePeer("10.0.1.9:5000"))
    for _ in range(3):
        world.put("T")
    for _ in range(2):
        world.other.send("T")
    return made


def test_groups_of_all_brokers_are_listed_with_sums_and_the_figures_of_each(browser: ConsoleBrowser) -> None:
    page = browser.get("/cluster/groups")
    assert [row["group"] for row in page["rows"]] == ["G", "There"]
    group, there = page["rows"]
    assert (group["members"], group["behind"], group["isOwn"]) == (2, 3, True)
    assert [(one["broker"], one["members"], one["behind"]) for one in group["brokers"]] == [
        ("broker-a", 1, 2),
        ("broker-b", 2, 1),
    ]
    assert (there["members"], there["behind"], there["isOwn"]) == (0, 0, False)


def test_list_is_sorted_by_the_lag_of_all_brokers(browser: ConsoleBrowser) -> None:
    world = browser.world
    assert isinstance(world, ClusterWorld)
    for memory, lag in ((world.memory, 0), (world.other, 4)):
        memory.broker.tables.groups.put(SubscriptionGroupConfig("Far"))
        memory.add_topic("U", queues=1)
        memory.broker.tables.offsets.commit("Far", "U", 0, 0)
        for _ in range(lag):
            memory.send("U")
    page = browser.get("/cluster/groups?sort=behind&descending=true&limit=2")
    assert [(row["group"], row["behind"]) for row in page["rows"]] == [("Far", 4), ("G", 3)]
    assert page["unsorted"] == []
    cursor = page["cursor"]
    rest = browser.get(f"/cluster/groups?sort=behind&descending=true&limit=2&cursor={cursor}")
    assert [row["group"] for row in rest["rows"]] == ["There"]


def test_broker_without_lags_of_all_groups_is_named_in_a_list_by_lag(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OtherBrokerOperations, "group_lags", lambda *_: succeed({"G": None}))
    page = browser.get("/cluster/groups?sort=behind")
    assert [row["group"] for row in page["rows"]] == ["G"] and page["unsorted"] == ["broker-b"]
    assert browser.get("/cluster/groups")["unsorted"] == []


def test_group_whose_offsets_do_not_move_at_one_broker_is_stuck(browser: ConsoleBrowser) -> None:
    world = browser.world
    assert [row["state"] for row in browser.get("/cluster/groups")["rows"]] == ["behind", "no-members"]
    world.memory.clock.advance(IDLE_MILLIS)
    world.memory.broker.tables.offsets.commit("G", "T", 0, 3)
    [group, _] = browser.get("/cluster/groups")["rows"]
    assert group["state"] == "stuck"
    assert [one["state"] for one in group["brokers"]] == ["ok", "stuck"]


def test_members_of_kafka_with_one_client_id_all_count(browser: ConsoleBrowser) -> None:
    world = browser.world
    world.broker.tables.groups.put(SubscriptionGroupConfig("K"))
    found = kafka_group(assigned=((("T", 0),), (("T", 1),)))
    world.console.operations.coordinated.attach(OneGroup("K", found))
    [row] = browser.get("/cluster/groups?search=K")["rows"]
    assert row["members"] == 2


def test_list_is_searched_and_of_one_broker_or_all(browser: ConsoleBrowser) -> None:
    assert browser.get("/cluster/groups?search=the")["total"] == 1
    assert [row["group"] for row in browser.get("/cluster/groups?broker=broker-a")["rows"]] == ["G"]
    assert browser.get("/cluster/groups?system=true")["total"] > 2


def test_broker_that_gives_no_figures_is_named_in_the_row(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Deferred[object]:
        return fail(RequestError(1, "it is busy"))

    monkeypatch.setattr(OtherBrokerOperations, "consume_stats", refuse)
    [row] = browser.get("/cluster/groups?search=G")["rows"]
    assert (row["behind"], row["members"]) == (2, 1)
    assert (
        row["brokers"][1]["behind"] is row["brokers"][1]["state"] is None
        and "it is busy" in row["brokers"][1]["error"]
    )
