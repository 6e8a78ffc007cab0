import pytest
from twisted.internet.defer import fail, succeed

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer, NotAnswered
from mqgateway.gateway.codec.bodies import ConsumerRunningInfo, MessageQueue
from mqgateway.gateway.codec.bodies.consuming import ConsumeStatus, PopProcessQueueInfo, ProcessQueueInfo
from tests.support.gateway.broker.helpers import CONSUMER, FakePeer
from tests.support.gateway.console import ConsoleBrowser, console
from tests.support.gateway.coordinated import OneGroup, kafka_group

RUNNING = ConsumerRunningInfo(
    {"PROP_THREADS": "20"},
    mq_table={MessageQueue("T", "b", 0): ProcessQueueInfo(cached_msg_count=7, last_pull_timestamp=5)},
    mq_pop_table={MessageQueue("T", "b", 1): PopProcessQueueInfo(wait_ack_count=3, last_pop_timestamp=6)},
    status_table={"T": ConsumeStatus(consume_failed_tps=2.0, consume_rt=9.0)},
    jstack="main\n  at Consumer.consume",
)


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


def test_delivered_messages_of_a_connected_group_are_in_flight(browser: ConsoleBrowser) -> None:
    table = browser.world.broker.tables.offsets
    table.commit_pull("G03", "T", 0, 5, 0)
    [queue] = browser.get("/groups/G03")["progress"][0]["queues"]
    assert (queue["behind"], queue["inFlight"]) == (2, 2)
    table.commit_pull("G02", "T", 0, 5, 0)  # of members that are gone
    assert browser.get("/groups/G02")["progress"][0]["queues"][0]["inFlight"] == 0


def test_group_whose_member_hangs_with_its_first_messages_is_behind(browser: ConsoleBrowser) -> None:
    world = browser.world
    world.memory.subscribe("Hung", "T")
    world.broker.tables.offsets.commit_pull("Hung", "T", 0, 5, 0)
    [row] = browser.get("/groups?search=hung")["rows"]
    assert (row["behind"], row["state"]) == (5, "behind")
    [queue] = browser.get("/groups/Hung")["progress"][0]["queues"]
    assert (queue["offset"], queue["behind"], queue["inFlight"]) == (-1, 5, 5)
    assert queue["delay"] == 5000


def test_kafka_group_is_shown_with_kind_state_members_and_lag(browser: ConsoleBrowser) -> None:
    found = kafka_group("share", assigned=((("T", 0), ("T", 1)),), shared=2)
    browser.world.console.operations.coordinated.attach(OneGroup("G04", found))
    row = browser.get("/groups?sort=members&descending=true&limit=2")["rows"][0]
    assert (row["group"], row["members"], row["kafkaKind"], row["kafkaState"]) == (
        "G04",
        1,
        "share",
        "Stable",
    )
    answer = browser.get("/groups/G04")
    assert (answer["behind"], answer["kafka"]["assignor"]) == (1 + 2, "range")
    [member] = answer["kafka"]["members"]
    assert (member["clientId"], member["subscriptions"], member["assigned"]) == ("app", ["T"], ["T: 0, 1"])
    assert answer["kafka"]["shared"] == [{"topic": "T", "partition": 0, "offset": 3, "lag": 2}]
    assert browser.get("/groups/G03")["kafka"] is None


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
        answer = succeed(ClientAnswer(0, RUNNING.encode(), None, {}))

        def running_info(self, *_: object) -> object:
            return self.answer

    client.outgoing = Outgoing()  # type: ignore[assignment]
    path = f"/groups/G03/clients/{CONSUMER}"
    report = browser.get(f"{path}?stacks=true")
    assert report["stacks"] == "main\n  at Consumer.consume"
    assert report["properties"] == {"PROP_THREADS": "20"}
    assert [(row["queueId"], row["held"], row["lastPull"]) for row in report["queues"]] == [
        (0, 7, 5),
        (1, 3, 6),
    ]
    assert report["rates"] == [{"topic": "T", "consumed": 0.0, "failed": 2.0, "millis": 9.0}]
    for answer, code in (
        (succeed(ClientAnswer(0, b"{", None, {})), 502),
        (succeed(ClientAnswer(1, b"", "no", {})), 502),
        (fail(NotAnswered("late", is_late=True)), 504),
        (fail(NotAnswered("no")), 409),
    ):
        Outgoing.answer = answer  # type: ignore[assignment]
        assert browser.refused("GET", path)[0] == code
    assert browser.refused("GET", "/groups/G03/clients/other")[0] == 409
