"""Samples of topics, on a broker in memory."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.gateway.web.topic_watch import watch_topics
from tests.support.gateway.console import ConsoleBrowser, console


def watch(browser: ConsoleBrowser) -> None:
    browser.world.memory.clock.advance(30_000)
    sampled = Deferred.fromCoroutine(watch_topics(browser.world.console))
    assert sampled.called and sampled.result is None


def test_topics_that_receive_messages_have_a_history() -> None:
    browser = console()
    for topic in ("T", "Quiet", "%RETRY%G"):
        browser.world.memory.add_topic(topic, queues=1)
    for topic in ("T", "%RETRY%G"):
        browser.world.put(topic)
        browser.world.broker.stats.put(topic, 1, 60)
    watch(browser)
    browser.world.put("T")
    browser.world.broker.stats.put("T", 30, 600)
    watch(browser)
    history = browser.get("/topics/T/history")
    assert (history["messages"], history["in"], history["bytes"]) == ([1, 2], [0.0, 1.0], [0.0, 20.0])
    for topic in ("Quiet", "%25RETRY%25G"):
        assert browser.get(f"/topics/{topic}/history")["time"] == []


def test_history_ends_with_its_topic() -> None:
    browser = console()
    browser.world.memory.add_topic("T", queues=1)
    browser.world.broker.stats.put("T", 1, 60)
    watch(browser)
    browser.do("DELETE", "/topics/T")
    watch(browser)
    assert browser.get("/topics/T/history")["time"] == []
