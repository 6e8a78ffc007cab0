"""Forms: what is typed stays, empty fields are errors, and an action does what the page shows."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Route

from browser_tests.conftest import Server, Visitor


def refresh(visitor: Visitor, path: str) -> None:
    """Have the page ask again for all that it shows, as it does every ten seconds."""
    with visitor.page.expect_response(lambda response: response.url.endswith(path)):
        visitor.page.evaluate("dispatchEvent(new Event('refresh'))")
    visitor.page.wait_for_timeout(100)


def typed(visitor: Visitor, *names: str) -> list[str]:
    """Return the values of fields of the open dialog."""
    return [visitor.page.locator(f"dialog [name={name}]").input_value() for name in names]


def test_refresh_leaves_forms_as_they_are(visitor: Visitor) -> None:
    visitor.visit("groups/Billing")
    visitor.press("Reset offsets")
    visitor.fill(to="offset")
    visitor.fill(queueId="2", offset="1")
    refresh(visitor, "/groups/Billing")
    assert typed(visitor, "to", "queueId", "offset") == ["offset", "2", "1"]
    visitor.send()
    visitor.sees("Nothing is changed yet")
    assert visitor.page.locator("dialog tbody tr").all_inner_texts() == ["2\t0\t1\t0\t1"]
    visitor.press("Cancel")
    visitor.visit("topics/Orders")
    visitor.press("Send a message")
    visitor.fill(body="half", tags="a tag", keys="k", delayLevel="3")
    refresh(visitor, "/topics/Orders")
    assert typed(visitor, "body", "tags", "keys", "delayLevel") == ["half", "a tag", "k", "3"]


def test_empty_field_is_an_error_and_a_changed_form_has_no_preview(visitor: Visitor) -> None:
    visitor.visit("groups/Billing")
    visitor.press("Reset offsets")
    visitor.send()
    visitor.sees("Nothing is changed yet")
    visitor.fill(to="time")
    assert not visitor.page.get_by_role("button", name="Apply").count()
    visitor.send()
    visitor.sees("This field is empty")
    assert not visitor.page.get_by_role("button", name="Apply").count()
    assert not visitor.barriers()
    visitor.fill(to="offset", queueId="0", offset="")
    visitor.send()
    visitor.sees("This field is empty")


def test_refused_name_stays_in_the_form(visitor: Visitor) -> None:
    visitor.visit("topics")
    visitor.press("Create a topic")
    visitor.fill(topic="Orders", readQueues="3")
    visitor.send()
    visitor.sees("there is a topic Orders already")
    assert typed(visitor, "topic", "readQueues") == ["Orders", "3"]


def test_used_link_is_explained(serve: Callable[..., Server], visit: Callable[..., Visitor]) -> None:
    server = serve()
    visit().open(server.url)
    second = visit()
    second.page.goto(server.url)
    second.sees("the link was used already")
    second.fill(token="wrong")
    second.send()
    second.page.locator("form [role=alert]").wait_for()
    assert second.page.locator("[name=token]").input_value() == "wrong"
    assert not second.barriers()


def test_report_of_a_member_is_readable(visitor: Visitor) -> None:
    """A member's report and its refusal, as the broker answers for a client that is connected."""
    member = {"clientId": "c", "address": "a", "language": "JAVA", "version": "V5", "lastHeard": 1}

    def with_member(route: Route) -> None:
        answer = route.fetch()
        group = answer.json() | {"clients": [member | {"subscriptions": ["Orders: *"]}]}
        route.fulfill(response=answer, json=group)

    row = {"topic": "Orders", "broker": "b", "queueId": 3, "held": 2601, "lastPull": 1, "lastConsume": 1}
    report = {"queues": [row], "rates": [], "stacks": "main\n  at A.b", "properties": {"PROP": "v"}}
    visitor.page.route("**/api/v1/groups/Billing", with_member)
    visitor.page.route("**/groups/Billing/clients/**", lambda route: route.fulfill(json=report))
    visitor.visit("groups/Billing")
    visitor.press("Show")
    visitor.sees("2,601")
    assert visitor.page.inner_text("dialog pre") == "main\n  at A.b"
    visitor.press("Close")
    refusal = {"error": "the client answered 1: no\n  at C.d"}
    visitor.page.unroute("**/groups/Billing/clients/**")
    visitor.page.route("**/clients/**", lambda route: route.fulfill(status=502, json=refusal))
    visitor.press("Show")
    shown = visitor.page.locator("dialog [role=alert]")
    shown.wait_for()
    assert shown.inner_text() == refusal["error"]
