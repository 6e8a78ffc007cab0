"""Messages that the console stores in a static topic, whose queues move between brokers."""

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld


@pytest.fixture
def brokers() -> Cluster:
    """Brokers a and b; queue 0 of the topic was moved from a to b, and back to queue 1 of a."""
    brokers = Cluster("a", "b")
    brokers.create("a")
    brokers.fill("a", b"old")
    brokers.move(0, "b")
    brokers.move(0, "a")
    return brokers


def browser_of(brokers: Cluster, name: str) -> ConsoleBrowser:
    """The console of one of the brokers."""
    return ConsoleBrowser(ConsoleWorld(memory=lambda **_: brokers[name])).log_in()


def stored(brokers: Cluster, name: str, queue: int) -> list[bytes]:
    return [message.body for message in brokers[name].stored(TOPIC, queue)]


@pytest.mark.parametrize("queue", [0, -1])
def test_console_send_to_a_moved_queue_is_stored_where_the_queue_is(brokers: Cluster, queue: int) -> None:
    browser = browser_of(brokers, "a")
    answer = browser.do("POST", f"/topics/{TOPIC}/messages", {"body": "new", "queueId": queue})
    assert (answer["queueId"], answer["queueOffset"]) == (0, 2 * BLOCK)
    assert (stored(brokers, "a", 0), stored(brokers, "a", 1)) == ([b"old"], [b"new"])
    assert brokers.read("a", 2 * BLOCK) == [(2 * BLOCK, b"new")]


def test_console_send_to_a_queue_of_another_broker_is_refused(brokers: Cluster) -> None:
    browser = browser_of(brokers, "b")
    status, error = browser.refused("POST", f"/topics/{TOPIC}/messages", {"body": "new", "queueId": 0})
    assert status == 409 and f"{TOPIC}-0" in error
    assert not stored(brokers, "b", 0)


def test_replayed_dead_letter_is_stored_where_the_queue_is(brokers: Cluster) -> None:
    browser = browser_of(brokers, "a")
    browser.world.memory.add_topic("%DLQ%G", queues=1)
    browser.world.broker.tables.groups.put(SubscriptionGroupConfig("G"))
    browser.world.put("%DLQ%G", b"again", RETRY_TOPIC=TOPIC)
    (letter,) = browser.get("/messages?topic=%25DLQ%25G")["rows"]
    (result,) = browser.do("POST", "/dead-letters/G/replay", {"ids": [letter["id"]]})["results"]
    assert result["topic"] == TOPIC
    assert (stored(brokers, "a", 0), stored(brokers, "a", 1)) == ([b"old"], [b"again"])
