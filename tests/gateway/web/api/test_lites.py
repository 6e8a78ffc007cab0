from tests.support.gateway.broker.lite import PARENT, LiteBroker
from tests.support.gateway.console import ConsoleBrowser, console


def chat() -> ConsoleBrowser:
    """Two lite topics; c1 of group G reads both and consumed nothing yet of what came last."""
    browser = console(memory=LiteBroker)
    memory = browser.world.memory
    assert isinstance(memory, LiteBroker)
    memory.post("a", b"1", b"2", b"3")
    memory.post("b", b"1")
    memory.control("COMPLETE_ADD", "a", "b")
    return browser


def test_parents_and_how_many_lite_topics_they_have() -> None:
    browser = chat()
    answer = browser.get("/lites")
    assert answer["rows"] == [{"topic": PARENT, "liteTopics": 2, "minutesToLive": 20, "groups": ["G"]}]
    assert (answer["liteTopics"], answer["clients"], answer["subscriptions"]) == (2, 1, 2)
    assert browser.get("/lites?search=none")["rows"] == []


def test_lag_of_groups_of_a_parent() -> None:
    browser = chat()
    memory = browser.world.memory
    for lite, done in (("a", 1), ("b", 0)):
        memory.broker.tables.offsets.commit("G", f"%LMQ%${PARENT}${lite}", 0, done)
    answer = browser.get(f"/lites/{PARENT}")
    [group] = answer["groups"]
    assert answer["liteTopics"] == 2
    assert (group["group"], group["clients"], group["behind"]) == ("G", 1, 3)
    assert group["furthestBehind"] == [{"liteTopic": "a", "behind": 2}, {"liteTopic": "b", "behind": 1}]
    assert browser.refused("GET", "/lites/other")[0] == 404


def test_clients_of_a_parent() -> None:
    browser = chat()
    memory = browser.world.memory
    assert isinstance(memory, LiteBroker)
    memory.bind("W", wildcard="true")
    memory.control("COMPLETE_ADD", client_id="c2", group="W")
    rows = browser.get(f"/lites/{PARENT}/clients")["rows"]
    assert [(row["clientId"], row["group"], row["liteTopics"]) for row in rows] == [
        ("c1", "G", 2),
        ("c2", "W", None),
    ]
    assert browser.get(f"/lites/{PARENT}/clients?search=w")["total"] == 1
