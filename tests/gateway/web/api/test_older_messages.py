"""The console's views of messages that the local log has deleted and a tier has."""

from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.broker.tiered import BrokerTier
from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld

COUNT = 60


def filled(tier: BrokerTier) -> ConsoleBrowser:
    """Return a browser of a console whose messages are mostly in the tier only."""
    world = ConsoleWorld(memory=lambda options: MemoryBroker(options=options, **tier.given))
    world.memory.add_topic("T", queues=1)
    for number in range(COUNT):
        world.put("T", b"m%d " % number + b"." * 150, KEYS=f"k{number}", UNIQ_KEY=f"U{number}")
        world.memory.clock.advance(1000)
    assert tier.move(world.broker) > COUNT // 2
    return ConsoleBrowser(world).log_in()


def test_topic_is_looked_through_from_its_oldest_message() -> None:
    browser = filled(BrokerTier())
    rows = browser.get("/messages?topic=T&limit=100&order=oldest")["rows"]
    assert [row["preview"].split()[0] for row in rows] == [f"m{number}" for number in range(COUNT)]


def test_messages_are_found_by_key_and_shown() -> None:
    browser = filled(BrokerTier())
    [row] = browser.get("/messages/by-key?topic=T&key=k3")["rows"]
    assert row["preview"].startswith("m3 ") and row["queueOffset"] == 3
    [row] = browser.get("/messages/by-key?topic=T&key=U5")["rows"]
    assert row["queueOffset"] == 5


def test_older_messages_are_unavailable_while_the_store_is_away() -> None:
    tier = BrokerTier()
    browser = filled(tier)
    tier.break_off()
    assert browser.refused("GET", "/messages?topic=T&limit=5&order=oldest")[0] == 503
    assert browser.refused("GET", "/messages/by-key?topic=T&key=k3")[0] == 503
    [newest] = browser.get(f"/messages/by-key?topic=T&key=k{COUNT - 1}")["rows"]
    assert newest["queueOffset"] == COUNT - 1
    tier.recover()
    assert browser.get("/messages/by-key?topic=T&key=k3")["rows"]
