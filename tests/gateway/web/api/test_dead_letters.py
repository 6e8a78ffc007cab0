import zlib

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console


def with_dead_letters(world: ConsoleWorld) -> None:
    for name in ("T", "%RETRY%G", "%DLQ%G", "%DLQ%Empty"):
        world.memory.add_topic(name, queues=1)
    world.broker.tables.groups.put(SubscriptionGroupConfig("G"))
    for number in range(3):
        properties = {
            "RETRY_TOPIC": "T",
            "KEYS": f"k{number}",
            "DELAY": "3",
            "RECONSUME_TIME": "16",
            "UNIQ_KEY": "U",
        }
        world.put("%DLQ%G", f"m{number}".encode(), own="1", **properties)


@pytest.fixture
def browser() -> ConsoleBrowser:
    made = console()
    with_dead_letters(made.world)
    return made


def ids(browser: ConsoleBrowser) -> list[str]:
    return [row["id"] for row in browser.get("/messages?topic=%25DLQ%25G&order=oldest")["rows"]]


def test_groups_that_have_some(browser: ConsoleBrowser) -> None:
    answer = browser.get("/dead-letters")
    [row] = answer["rows"]
    assert (row["group"], row["messages"], answer["total"]) == ("G", 3, 1)
    assert row["lastTimestamp"] == browser.world.memory.clock.millis()
    assert browser.get("/dead-letters?search=other")["total"] == 0


@pytest.mark.parametrize(("to", "target"), [("topic", "T"), ("group", "%RETRY%G")])
def test_sent_again_as_new_messages(browser: ConsoleBrowser, to: str, target: str) -> None:
    first, second, _ = ids(browser)
    results = browser.do("POST", "/dead-letters/G/replay", {"ids": [second, first], "to": to})["results"]
    assert [(result["id"], result["topic"]) for result in results] == [(second, target), (first, target)]
    message = browser.get(f"/messages/{results[0]['newId']}")
    properties = message["properties"]
    assert (message["body"], message["topic"], message["reconsumeTimes"]) == ("m1", target, 0)
    assert (properties["REPLAY_OF"], properties["KEYS"], properties["own"]) == (second, "k1", "1")
    assert properties["UNIQ_KEY"] != "U" and not {"DELAY", "RECONSUME_TIME"} & properties.keys()
    assert properties.get("RETRY_TOPIC") == ("T" if to == "group" else None)
    assert browser.get("/dead-letters")["rows"][0]["messages"] == 3


def test_replay_reports_the_error_of_each_message(browser: ConsoleBrowser) -> None:
    world = browser.world
    world.put("T", b"no dead letter")
    world.put("%DLQ%G", b"lost", RETRY_TOPIC="Gone")
    [other] = [row["id"] for row in browser.get("/messages?topic=T")["rows"]]
    good, *_, lost = ids(browser)
    answer = browser.do("POST", "/dead-letters/G/replay", {"ids": [other, "nonsense", lost, good]})["results"]
    assert ["error" in result for result in answer] == [True, True, True, False]
    assert "not a dead letter of G" in answer[0]["error"] and "no topic Gone" in answer[2]["error"]
    assert browser.get("/audit")["rows"][0]["after"] == {"replayed": 1, "of": 4}
    for wrong in ([], ["x"] * 101):
        assert browser.refused("POST", "/dead-letters/G/replay", {"ids": wrong})[0] == 400


def test_compressed_ones_stay_so(browser: ConsoleBrowser) -> None:
    from mqgateway.engine.message import Message
    from tests.support.gateway.console import HOST_BYTES

    body = zlib.compress(b"hello" * 100)
    message = Message("%DLQ%G", 0, body, {"RETRY_TOPIC": "T"}, 1, HOST_BYTES, HOST_BYTES, sys_flag=1)
    browser.world.broker.store.put(message)
    browser.world.broker.store.dispatch()
    [result] = browser.do("POST", "/dead-letters/G/replay", {"ids": ids(browser)[-1:]})["results"]
    assert browser.get(f"/messages/{result['newId']}")["body"] == "hello" * 100


def test_a_group_that_consumes_in_order_has_no_retries(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser.world.broker.clients.locks, "any_live", lambda *_: True)
    given = {"ids": ids(browser)[:1], "to": "group"}
    assert browser.refused("POST", "/dead-letters/G/replay", given)[0] == 409


def test_replay_to_a_forbidden_topic_is_refused() -> None:
    policies = {"alice": [("Group:G", "Sub"), ("Topic:%DLQ%G", "Sub")]}
    world = ConsoleWorld(users=("alice",), policies=policies, console_roles="alice:operator")
    with_dead_letters(world)
    alice = ConsoleBrowser(world).log_in("alice")
    [result] = alice.do("POST", "/dead-letters/G/replay", {"ids": ids(alice)[:1]})["results"]
    assert "no matched policies" in result["error"]
