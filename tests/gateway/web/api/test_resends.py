"""A stored message sent again."""

from __future__ import annotations

import pytest

from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console


@pytest.fixture
def browser() -> ConsoleBrowser:
    made = console()
    for topic in ("T", "Other", "%DLQ%G"):
        made.world.memory.add_topic(topic, queues=1)
    made.world.put("T", b"body", KEYS="k", own="1", UNIQ_KEY="U", TIMER_DELAY_SEC="3600")
    return made


def stored_id(browser: ConsoleBrowser, topic: str = "T") -> str:
    return str(browser.get(f"/messages?topic={topic}")["rows"][0]["id"])


@pytest.mark.parametrize(("given", "target"), [({}, "T"), ({"topic": "Other"}, "Other")])
def test_copy_has_body_and_own_properties_and_is_sent_at_once(
    browser: ConsoleBrowser, given: dict[str, str], target: str
) -> None:
    first = stored_id(browser)
    sent = browser.do("POST", f"/messages/{first}/resend", given)
    copy = browser.get(f"/messages/{sent['id']}")
    assert (sent["topic"], copy["topic"], copy["body"]) == (target, target, "body")
    properties = copy["properties"]
    assert (properties["KEYS"], properties["own"], properties["REPLAY_OF"]) == ("k", "1", first)
    assert properties["UNIQ_KEY"] != "U" and "TIMER_DELAY_SEC" not in properties
    [entry] = [one for one in browser.get("/audit")["rows"] if "resend" in one["action"]]
    assert entry["after"] == {"topic": target, "id": sent["id"]}


@pytest.mark.parametrize(("topic", "code"), [("none", 404), ("%DLQ%G", 400), ("%RETRY%G", 400)])
def test_other_targets_are_refused(browser: ConsoleBrowser, topic: str, code: int) -> None:
    assert browser.refused("POST", f"/messages/{stored_id(browser)}/resend", {"topic": topic})[0] == code


def test_dead_letter_goes_to_a_topic_that_is_named(browser: ConsoleBrowser) -> None:
    browser.world.put("%DLQ%G", b"dead")
    letter = stored_id(browser, "%25DLQ%25G")
    assert browser.refused("POST", f"/messages/{letter}/resend", {})[0] == 400
    assert browser.do("POST", f"/messages/{letter}/resend", {"topic": "T"})["topic"] == "T"


@pytest.mark.parametrize("rights", [[("Topic:T", "Sub")], [("Topic:T", "Pub")]])
def test_caller_needs_to_read_the_message_and_to_send_to_the_topic(rights: list[tuple[str, str]]) -> None:
    world = ConsoleWorld(users=("alice",), policies={"alice": rights}, console_roles="alice:operator")
    world.memory.add_topic("T", queues=1)
    world.put("T")
    message_id = stored_id(ConsoleBrowser(world).log_in("root"))
    alice = ConsoleBrowser(world).log_in("alice")
    assert alice.refused("POST", f"/messages/{message_id}/resend", {})[0] == 403
