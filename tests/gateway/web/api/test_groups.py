import json

import pytest
from twisted.internet.defer import fail, succeed

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer, NotAnswered
from tests.support.gateway.broker.helpers import CONSUMER, FakePeer
from tests.support.gateway.console import ConsoleBrowser, console


@pytest.fixture
def browser() -> ConsoleBrowser:
    made = console()
    memory = made.world.memory
    memory.add_topic("T", queues=2)
    for number in range(10):
        made.world.put("T", queue=number % 2)
    for number in range(20):
        group = f"G{number:02}"
        made.world.broker.tables.groups.put(SubscriptionGroupConfig(group))
        made.world.broker.tables.offsets.commit(group, "T", 0, min(5, number))
    memory.subscribe("G03", "T", "a")
    memory.clock.advance(5_000)
    return made


def test_a_page_of_groups(browser: ConsoleBrowser) -> None:
    page = browser.get("/groups?limit=5")
    assert [row["group"] for row in page["rows"]] == [f"G{number:02}" for number in range(5)]
    assert (page["total"], page["rows"][3]["members"], page["rows"][3]["behind"]) == (20, 1, 2)
    last = browser.get(f"/groups?limit=50&cursor={page['cursor']}")
    assert len(last["rows"]) == 15


def test_sorted_by_how_far_they_are_behind(browser: ConsoleBrowser) -> None:
    rows = browser.get("/groups?sort=behind&descending=true&limit=3")["rows"]
    assert [(row["group"], row["behind"]) for row in rows] == [("G00", 5), ("G01", 4), ("G02", 3)]
    assert browser.get("/groups?sort=members&descending=true&limit=1")["rows"][0]["group"] == "G03"
    assert browser.get("/groups?system=true")["total"] > browser.get("/groups")["total"]


def test_one_group(browser: ConsoleBrowser) -> None:
    answer = browser.get("/groups/G03")
    assert answer["subscriptions"] == [{"topic": "T", "kind": "TAG", "expression": "a"}]
    [client] = answer["clients"]
    assert (client["clientId"], client["language"], client["subscriptions"]) == (CONSUMER, "JAVA", ["T: a"])
    [progress] = answer["progress"]
    [queue] = progress["queues"]
    assert (queue["offset"], queue["maxOffset"], queue["behind"], queue["delay"]) == (3, 5, 2, 5000)
    assert answer["settings"]["retryMaxTimes"] == 16
    assert browser.refused("GET", "/groups/none")[0] == 404


def test_members_that_disagree_are_shown(browser: ConsoleBrowser) -> None:
    browser.world.memory.subscribe("G03", "T", "b", peer=FakePeer("10.0.0.3:4003"))
    answer = browser.get("/groups/G03")
    assert answer["isInconsistent"] and len(answer["clients"]) == 2
    assert {"kind": "inconsistent", "group": "G03"} in browser.get("/overview")["warnings"]


def test_made_changed_and_deleted(browser: ConsoleBrowser) -> None:
    assert browser.do("POST", "/groups", {"group": "New", "retryMaxTimes": 3}) == {"group": "New"}
    assert browser.refused("POST", "/groups", {"group": "New"})[0] == 409
    assert browser.refused("POST", "/groups", {"group": "bad name!"})[0] == 400
    browser.do("PUT", "/groups/New", {"consumeEnable": False})
    settings = browser.get("/groups/New")["settings"]
    assert (settings["retryMaxTimes"], settings["consumeEnable"]) == (3, False)
    browser.do("DELETE", "/groups/New")
    assert browser.refused("DELETE", "/groups/New")[0] == 404
    browser.do("DELETE", "/groups/G05?offsets=true")
    assert not browser.world.broker.tables.offsets.topics_of("G05")


def test_member_reports_its_state(browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser.world.broker.clients.consumer("G03", CONSUMER)
    assert client is not None

    class Outgoing:
        answer = succeed(ClientAnswer(0, json.dumps({"jstack": "..."}).encode(), None, {}))

        def running_info(self, *_: object) -> object:
            return self.answer

    client.outgoing = Outgoing()  # type: ignore[assignment]
    path = f"/groups/G03/clients/{CONSUMER}"
    assert browser.get(f"{path}?stacks=true")["running"] == {"jstack": "..."}
    for answer, code in (
        (succeed(ClientAnswer(1, b"", "no", {})), 502),
        (fail(NotAnswered("late", is_late=True)), 504),
        (fail(NotAnswered("no")), 409),
    ):
        Outgoing.answer = answer  # type: ignore[assignment]
        assert browser.refused("GET", path)[0] == code
    assert browser.refused("GET", "/groups/G03/clients/other")[0] == 409
