import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations.offsets import QueueRange
from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console


@pytest.fixture
def browser() -> ConsoleBrowser:
    made = console()
    world = made.world
    world.memory.add_topic("T", queues=2)
    world.broker.tables.groups.put(SubscriptionGroupConfig("G"))
    for number in range(10):
        world.put("T", queue=number % 2)
        world.memory.clock.advance(1_000)
    world.broker.tables.offsets.commit("G", "T", 0, 2)
    world.broker.tables.offsets.commit("G", "T", 1, 4)
    return made


def offsets(browser: ConsoleBrowser) -> list[int]:
    table = browser.world.broker.tables.offsets
    return [table.query("G", "T", queue) for queue in range(2)]


def test_it_is_shown_before_it_is_done(browser: ConsoleBrowser) -> None:
    begin = browser.world.memory.clock.millis() - 10_000
    for query, targets in (
        ("to=beginning", [0, 0]),
        ("to=end", [5, 5]),
        (f"to=time&time={begin + 4_000}", [2, 2]),
        ("to=offset&queueId=1&offset=3", [3]),
        ("to=end&queueId=0", [5]),
    ):
        answer = browser.get(f"/groups/G/reset-preview?topic=T&{query}")["queues"]
        assert [row["target"] for row in answer] == targets, query
    [first, second] = browser.get("/groups/G/reset-preview?topic=T&to=time&time=" + str(begin + 6_000))[
        "queues"
    ]
    assert (first["offset"], first["skipped"], first["again"]) == (2, 1, 0)
    assert (second["offset"], second["skipped"], second["again"]) == (4, 0, 1)
    assert offsets(browser) == [2, 4]


def test_done_and_undone_without_connected_clients(browser: ConsoleBrowser) -> None:
    done = browser.do("POST", "/groups/G/reset", {"topic": "T", "to": "end"})
    assert offsets(browser) == [5, 5]
    [row] = browser.get("/resets")["rows"]
    assert (row["id"], row["group"], row["topic"]) == (done["id"], "G", "T")
    assert browser.do("POST", f"/resets/{done['id']}/undo")["offsets"] == {"0": 2, "1": 4}
    assert offsets(browser) == [2, 4]
    assert browser.refused("POST", f"/resets/{done['id']}/undo")[0] == 404
    audit = browser.get("/audit")["rows"]
    assert [entry.get("after") for entry in audit[1:]] == [{"0": 2, "1": 4}, {"0": 5, "1": 5}]


def test_reset_sets_the_offsets_of_the_preview(browser: ConsoleBrowser) -> None:
    rows = browser.get("/groups/G/reset-preview?topic=T&to=end")["queues"]
    browser.world.put("T", queue=0)
    shown = {str(row["queueId"]): row["target"] for row in rows}
    browser.do("POST", "/groups/G/reset", {"topic": "T", "to": "end", "offsets": shown})
    assert offsets(browser) == [5, 5]


def test_undo_keeps_within_the_messages_that_are_left(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = browser.do("POST", "/groups/G/reset", {"topic": "T", "to": "end"})
    console = browser.world.console
    monkeypatch.setattr(console.operations.offsets, "range", lambda *_: QueueRange(3, 5))
    assert browser.do("POST", f"/resets/{done['id']}/undo")["offsets"] == {"0": 3, "1": 4}
    assert offsets(browser) == [3, 4]


def test_of_a_group_that_had_no_offsets(browser: ConsoleBrowser) -> None:
    browser.world.broker.tables.groups.put(SubscriptionGroupConfig("Other"))
    done = browser.do("POST", "/groups/Other/reset", {"topic": "T", "to": "beginning"})
    table = browser.world.broker.tables.offsets
    assert table.topics_of("Other") == {"T"}
    browser.do("POST", f"/resets/{done['id']}/undo")
    assert not table.topics_of("Other")


@pytest.mark.parametrize(
    ("group", "given", "code"),
    [
        ("G", {"topic": "none", "to": "end"}, 404),
        ("none", {"topic": "T", "to": "end"}, 404),
        ("G", {"topic": "T"}, 400),
        ("G", {"topic": "T", "to": "time"}, 400),
        ("G", {"topic": "T", "to": "offset"}, 400),
        ("G", {"topic": "T", "to": "offset", "queueId": 0}, 400),
        ("G", {"topic": "T", "offsets": {}}, 400),
        ("G", {"topic": "T", "offsets": {"2": 0}}, 400),
        ("G", {"topic": "T", "offsets": {"00": 0}}, 400),
        ("G", {"topic": "T", "offsets": {"0": "1"}}, 409),
        ("G", {"topic": "T", "offsets": {"0": 6}}, 409),
        ("G", {"topic": "none", "offsets": {"0": 0}}, 404),
        ("none", {"topic": "T", "offsets": {"0": 0}}, 404),
        ("G", {"topic": "T", "to": "offset", "queueId": 0, "offset": 77}, 409),
        ("G", {"topic": "T", "to": "nowhere"}, 400),
        ("G", {}, 400),
    ],
)
def test_impossible_reset_is_refused(
    browser: ConsoleBrowser, group: str, given: dict[str, object], code: int
) -> None:
    assert browser.refused("POST", f"/groups/{group}/reset", given)[0] == code
    assert offsets(browser) == [2, 4]


def test_undo_of_a_forbidden_group_is_refused() -> None:
    policies = {"alice": [("Cluster:DefaultCluster", "Get")]}
    world = ConsoleWorld(users=("alice",), policies=policies, console_roles="alice:operator")
    world.memory.add_topic("T", queues=1)
    world.broker.tables.groups.put(SubscriptionGroupConfig("G"))
    root, alice = ConsoleBrowser(world).log_in("root"), ConsoleBrowser(world).log_in("alice")
    done = root.do("POST", "/groups/G/reset", {"topic": "T", "to": "end"})
    assert alice.refused("POST", f"/resets/{done['id']}/undo")[0] == 403
    assert len(alice.get("/resets")["rows"]) == 1
    assert root.refused("POST", "/resets/x/undo")[0] == 404
