"""Topics of all brokers in one list."""

from __future__ import annotations

import pytest
from twisted.internet.defer import succeed

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.operations.other_brokers import OtherBrokerOperations
from mqgateway.gateway.codec.bodies import TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.web.table_cache import FRESH_SECONDS
from tests.support.gateway.console import ConsoleBrowser
from tests.support.gateway.console_cluster import LOST, ClusterWorld, cluster_console


@pytest.fixture
def browser() -> ConsoleBrowser:
    """`Both` at two brokers, with one message here and two there, and a topic at each alone."""
    made = cluster_console()
    world = made.world
    assert isinstance(world, ClusterWorld)
    for topic in ("Both", "Here"):
        world.memory.add_topic(topic, queues=2)
    for topic in ("Both", "There"):
        world.other.add_topic(topic, queues=3)
    world.put("Both")
    for _ in range(2):
        world.other.send("Both")
    return made


def test_topics_of_all_brokers_are_listed_with_sums_and_the_figures_of_each(browser: ConsoleBrowser) -> None:
    page = browser.get("/cluster/topics")
    assert [row["topic"] for row in page["rows"]] == ["Both", "Here", "There"]
    both, here, there = page["rows"]
    assert (both["readQueues"], both["messages"], both["isOwn"]) == (5, 3, True)
    assert [(one["broker"], one["messages"]) for one in both["brokers"]] == [("broker-a", 1), ("broker-b", 2)]
    assert both["lastTimestamp"] == browser.world.memory.clock.millis()
    assert [one["broker"] for one in here["brokers"]] == ["broker-a"]
    assert [one["broker"] for one in there["brokers"]] == ["broker-b"] and not there["isOwn"]
    [lost] = page["unanswered"]
    assert lost == {"broker": "broker-c", "reason": f"the broker does not answer: no connection to {LOST}"}


def test_one_broker_is_chosen(browser: ConsoleBrowser) -> None:
    page = browser.get("/cluster/topics?broker=broker-b")
    assert [row["topic"] for row in page["rows"]] == ["Both", "There"] and page["unanswered"] == []
    assert browser.refused("GET", "/cluster/topics?broker=none")[0] == 404


def test_list_is_searched_filtered_and_paged(browser: ConsoleBrowser) -> None:
    page = browser.get("/cluster/topics?limit=2")
    assert page["total"] == 3
    assert [row["topic"] for row in browser.get(f"/cluster/topics?cursor={page['cursor']}")["rows"]] == [
        "There"
    ]
    assert browser.get("/cluster/topics?search=here")["total"] == 2
    assert browser.get("/cluster/topics?kind=SYSTEM")["total"] > 3


def test_list_is_sorted_by_the_figures_of_all_brokers(browser: ConsoleBrowser) -> None:
    world = browser.world
    assert isinstance(world, ClusterWorld)
    for _ in range(4):
        world.other.send("There")
    page = browser.get("/cluster/topics?sort=messages&descending=true&limit=2")
    assert [(row["topic"], row["messages"]) for row in page["rows"]] == [("There", 4), ("Both", 3)]
    assert page["unsorted"] == []
    rest = browser.get(f"/cluster/topics?sort=messages&descending=true&cursor={page['cursor']}")
    assert [row["topic"] for row in rest["rows"]] == ["Here"]
    by_rate = browser.get("/cluster/topics?sort=rate&descending=true")["rows"]
    rates = [row["rate"] for row in by_rate]
    assert rates == sorted(rates, reverse=True)


def test_broker_without_figures_of_all_topics_is_named_in_a_list_by_messages(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {name: TopicConfig(name, 1, 1).to_json() for name in ("Both", "There")}
    answer = TopicConfigAndMappingSerializeWrapper(table)
    monkeypatch.setattr(OtherBrokerOperations, "topics", lambda *_, **__: succeed(answer))
    page = browser.get("/cluster/topics?sort=messages&descending=true")
    assert [row["topic"] for row in page["rows"]] == ["Both", "There", "Here"]
    assert page["unsorted"] == ["broker-b", "broker-c"]
    assert browser.get("/cluster/topics")["unsorted"] == []


def test_typing_a_search_asks_the_others_for_their_tables_once(browser: ConsoleBrowser) -> None:
    world = browser.world
    assert isinstance(world, ClusterWorld)
    for text in ("t", "th", "the"):
        browser.get(f"/cluster/topics?search={text}")
    assert world.asked.count(RequestCode.GET_ALL_TOPIC_CONFIG) == 1
    world.other.add_topic("Thereafter")
    world.memory.clock.advance(int(1000 * FRESH_SECONDS))
    assert browser.get("/cluster/topics?search=there")["total"] == 2


def test_topic_that_is_gone_at_a_broker_has_no_figures_there(browser: ConsoleBrowser) -> None:
    world = browser.world
    assert isinstance(world, ClusterWorld)
    browser.get("/cluster/topics")
    world.other.broker.tables.topics.delete("Both")
    [both] = browser.get("/cluster/topics?search=both")["rows"]
    assert both["messages"] == 1
    assert both["brokers"][1]["messages"] is None and "17" in both["brokers"][1]["error"]


def test_table_that_cannot_be_read_is_no_answer(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TopicConfig, "to_json", lambda self: {"readQueueNums": "many"})
    reasons = {one["broker"]: one["reason"] for one in browser.get("/cluster/topics")["unanswered"]}
    assert set(reasons) == {"broker-b", "broker-c"} and "readQueueNums" in reasons["broker-b"]


def test_queues_of_a_topic_are_those_of_every_broker_that_has_it(browser: ConsoleBrowser) -> None:
    found = browser.get("/cluster/topics/Both")
    queues = [(row["broker"], row["queueId"]) for row in found["rows"]]
    assert queues == [
        ("broker-a", 0), ("broker-a", 1), ("broker-b", 0), ("broker-b", 1), ("broker-b", 2),
    ]  # fmt: skip
    assert sum(row["maxOffset"] for row in found["rows"]) == 3
    assert [one["broker"] for one in found["unanswered"]] == ["broker-c"]
    assert {row["broker"] for row in browser.get("/cluster/topics/There")["rows"]} == {"broker-b"}


def test_brokers_to_choose_from_are_listed(browser: ConsoleBrowser) -> None:
    answer = browser.get("/cluster/masters")
    assert answer["own"] == "broker-a"
    assert [row["broker"] for row in answer["rows"]] == ["broker-a", "broker-b", "broker-c"]
