import pytest
from twisted.internet.defer import succeed

from mqgateway.gateway.broker.operations.administration import BrokerAdministration
from tests.support.gateway.console import ConsoleBrowser, console


@pytest.fixture
def browser() -> ConsoleBrowser:
    made = console()
    for number in range(30):
        made.world.memory.add_topic(f"T{number:02}", queues=2)
        for _ in range(number % 5):
            made.world.put(f"T{number:02}")
    made.world.memory.add_topic("%RETRY%G", queues=1)
    made.world.memory.add_topic("%DLQ%G", queues=1)
    return made


def test_a_page_of_topics(browser: ConsoleBrowser) -> None:
    page = browser.get("/topics?limit=10")
    assert [row["topic"] for row in page["rows"]] == [f"T{number:02}" for number in range(10)]
    assert page["total"] == 30
    page = browser.get(f"/topics?limit=100&cursor={page['cursor']}")
    assert len(page["rows"]) == 20 and not page["cursor"]


def test_sorted_and_searched(browser: ConsoleBrowser) -> None:
    rows = browser.get("/topics?sort=messages&descending=true&limit=6")["rows"]
    assert [row["messages"] for row in rows] == [4] * 6
    browser.world.broker.stats.put("T07", 600, 1)
    browser.world.memory.clock.advance(10_000)
    for _ in browser.world.broker.stats.tick(10_000, 10_000):
        pass
    assert browser.get("/topics?sort=rate&descending=true&limit=1")["rows"][0]["topic"] == "T07"
    assert browser.get("/topics?search=t1")["total"] == 10
    assert browser.get("/topics?prefix=T1")["total"] == 10
    assert browser.get("/topics?prefix=1")["total"] == 0
    assert [row["kind"] for row in browser.get("/topics?kind=all&search=%25")["rows"]] == ["DLQ", "RETRY"]
    assert browser.get("/topics?kind=SYSTEM")["total"] > 5


def test_one_topic(browser: ConsoleBrowser) -> None:
    browser.world.broker.tables.offsets.commit("G", "T04", 0, 1)
    answer = browser.get("/topics/T04")
    assert [(queue["queueId"], queue["maxOffset"]) for queue in answer["queues"]] == [(0, 4), (1, 0)]
    assert answer["consumers"] == [
        {"group": "G", "behind": 3, "members": 0, "state": "no-members", "rate": 0}
    ]
    assert answer["routes"] is None and answer["groups"] == 1
    assert browser.refused("GET", "/topics/none") == (404, "No topic in this broker. topic: none")


def test_made_changed_and_deleted(browser: ConsoleBrowser) -> None:
    given = {"topic": "New", "readQueues": 3, "writeQueues": 3, "attributes": {"message.type": "FIFO"}}
    assert browser.do("POST", "/topics", given) == {"topic": "New"}
    assert browser.refused("POST", "/topics", given)[0] == 409
    answer = browser.get("/topics/New")
    assert (answer["kind"], answer["readQueues"], answer["perm"]) == ("FIFO", 3, 6)
    browser.do("PUT", "/topics/New", {"perm": 4, "attributes": {"message.type": "FIFO"}})
    answer = browser.get("/topics/New")
    assert (answer["kind"], answer["readQueues"], answer["perm"]) == ("FIFO", 3, 4)
    browser.do("DELETE", "/topics/New")
    assert browser.refused("GET", "/topics/New")[0] == 404
    assert [entry["action"].split()[0] for entry in browser.get("/audit")["rows"]] == [
        "DELETE",
        "PUT",
        "POST",
        "POST",
    ]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"topic": "bad name!"}, 400),
        ({"topic": "TBW102"}, 409),
        ({"topic": "Ok", "readQueues": 0}, 400),
        ({"topic": "Ok", "attributes": {"message.type": "NONSENSE"}}, 409),
    ],
)
def test_invalid_topic_is_refused(browser: ConsoleBrowser, given: dict[str, object], code: int) -> None:
    assert browser.refused("POST", "/topics", given)[0] == code


def test_brokers_that_refuse_a_topic_are_named(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BrokerAdministration, "repeat_topic", lambda *_: succeed({"n-1": "it is away"}))
    assert browser.refused("POST", "/topics", {"topic": "New"}) == (
        502,
        "the topic is saved at this broker, but not at n-1: it is away; save it again later",
    )
    assert browser.get("/topics/New")["perm"] == 6


def test_system_topics_stay(browser: ConsoleBrowser) -> None:
    assert browser.refused("DELETE", "/topics/TBW102")[0] == 400


def test_a_message_is_sent(browser: ConsoleBrowser) -> None:
    given = {"body": "größer", "tags": "a", "keys": "k1 k2", "properties": {"x": "1"}, "queueId": 1}
    answer = browser.do("POST", "/topics/T00/messages", given)
    assert (answer["status"], answer["queueId"], answer["queueOffset"]) == ("PUT_OK", 1, 0)
    message = browser.get(f"/messages/{answer['id']}")
    assert (message["body"], message["tags"], message["keys"], message["properties"]["x"]) == (
        "größer",
        "a",
        "k1 k2",
        "1",
    )
    assert message["bornHost"] == "10.0.0.9:0"
    assert browser.refused("POST", "/topics/none/messages", {"body": ""})[0] == 404
    assert browser.refused("POST", "/topics/T00/messages", {"body": "", "queueId": 7})[0] == 400
    delayed = browser.do("POST", "/topics/T00/messages", {"body": "later", "delayLevel": 3})
    assert delayed["status"] == "PUT_OK" and browser.get("/topics/T00")["messages"] == 1


def test_a_slave_changes_nothing(browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.world.broker.role, "is_master", False)
    for method, path, body in (
        ("POST", "/topics", {"topic": "New"}),
        ("PUT", "/topics/T00", {}),
        ("DELETE", "/topics/T00", None),
        ("POST", "/topics/T00/messages", {"body": ""}),
        ("POST", "/groups", {"group": "New"}),
        ("POST", "/groups/G/reset", {"topic": "T00"}),
    ):
        assert browser.refused(method, path, body)[0] == 409
