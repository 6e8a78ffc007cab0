"""Samples of all groups, on a broker in memory."""

from twisted.internet.defer import Deferred

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.web.lag_watch import watch_groups
from tests.support.gateway.console import ConsoleBrowser, console
from tests.support.gateway.coordinated import OneGroup, kafka_group


def watch(browser: ConsoleBrowser, seconds: int = 30) -> None:
    browser.world.memory.clock.advance(1000 * seconds)
    sampled = Deferred.fromCoroutine(watch_groups(browser.world.console))
    for _ in range(100):
        if sampled.called:
            break
        browser.world.clockwork.advance(0.01)
    assert sampled.called and sampled.result is None


def test_group_without_progress_is_stuck_until_it_commits() -> None:
    browser = console()
    memory, tables = browser.world.memory, browser.world.broker.tables
    memory.add_topic("T", queues=1)
    for _ in range(3):
        browser.world.put("T")
    tables.groups.put(SubscriptionGroupConfig("G"))
    tables.offsets.commit("G", "T", 0, 1)
    memory.subscribe("G", "T", "*")
    states = []
    for _ in range(3):
        watch(browser)
        states.append(browser.get("/groups/G")["state"])
    assert states == ["behind", "behind", "stuck"]
    assert browser.get("/groups?state=stuck")["total"] == 1
    assert browser.get("/groups/G/lag")["lag"] == [2, 2, 2]
    tables.offsets.commit("G", "T", 0, 2)
    watch(browser)
    assert browser.get("/groups/G")["state"] == "behind"
    tables.offsets.commit("G", "T", 0, 3)
    assert browser.get("/groups/G")["state"] == "ok"
    assert browser.get("/groups?state=stuck")["total"] == 0


def test_share_group_is_sampled_by_its_partitions() -> None:
    browser = console()
    browser.world.broker.tables.groups.put(SubscriptionGroupConfig("K"))
    browser.world.console.operations.coordinated.attach(OneGroup("K", kafka_group("share", shared=2)))
    watch(browser)
    assert browser.get("/groups/K/lag")["lag"] == [2]
