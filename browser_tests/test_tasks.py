"""Three tasks of users, from the first page on, with the number of clicks that each takes."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator

from browser_tests.conftest import Server, Visitor, fill

SEND = """async ([path, body]) => {
  const { ask } = await import('./static/api.js');
  return ask('POST', path, body);
}"""


class Walk:
    """Counts the clicks of a visitor; what is typed in a field that is open does not count."""

    def __init__(self, visitor: Visitor) -> None:
        self.page = visitor.page
        self.clicks = 0

    def click(self, place: Locator) -> None:
        """Click a link, a button or a check box."""
        place.first.click()
        self.clicks += 1

    def go(self, page: str) -> None:
        """Open a page by its link."""
        self.click(self.page.get_by_role("navigation").get_by_role("link", name=page, exact=True))

    def button(self, name: str) -> None:
        """Press a button, of the dialog if one is open."""
        dialog = self.page.locator("dialog")
        place = dialog if dialog.count() else self.page
        self.click(place.get_by_role("button", name=name, exact=True))


def test_group_that_is_stuck_is_cured_where_its_cause_is_shown(visitor: Visitor) -> None:
    disable = "({ ask }) => ask('PUT', '/groups/Billing', { consumeEnable: false })"
    visitor.page.evaluate(f"import('./static/api.js').then({disable})")
    walk, page = Walk(visitor), visitor.page
    walk.go("Groups")
    walk.click(page.get_by_role("row", name="Billing").get_by_role("link", name="no members"))
    visitor.sees("the group Billing may not consume: consumeEnable is false")
    assert not visitor.barriers()
    walk.button("Change the group")
    walk.click(page.get_by_label("Consumption allowed"))
    walk.button("Save")
    page.locator("dl.facts dt", has_text="Consumption allowed").locator("+ dd", has_text="yes").wait_for()
    assert walk.clicks == 5


def test_message_is_found_by_a_property_and_sent_again(visitor: Visitor) -> None:
    given = {"body": "the order", "properties": {"region": "north"}}
    visitor.page.evaluate(SEND, ["/topics/Orders/messages", given])
    walk, page = Walk(visitor), visitor.page
    walk.go("Messages")
    visitor.fill(topic="Ord")
    page.locator("datalist option[value=Orders]").wait_for(state="attached")
    visitor.fill(topic="Orders", property="region=north")
    walk.button("Find")
    walk.click(page.get_by_role("link", name="the order"))
    first = page.url.rpartition("/")[2]
    walk.button("Send again")
    page.get_by_role("dialog").wait_for()
    assert not visitor.barriers()
    walk.button("Send")
    page.wait_for_url(lambda url: "#/messages/" in url and first not in url)
    visitor.sees("REPLAY_OF")
    assert walk.clicks == 5


def test_user_is_granted_one_topic(serve: Callable[..., Server], visit: Callable[..., Visitor]) -> None:
    server, visitor = serve(*LOGIN), visit()
    visitor.page.goto(server.url)
    visitor.page.wait_for_selector("form")
    visitor.fill(user="root", password="secret")
    visitor.send()
    visitor.page.wait_for_selector("nav")
    fill(visitor)
    visitor.page.evaluate(SEND, ["/users", {"user": "alice", "password": "alice"}])
    walk, page = Walk(visitor), visitor.page
    walk.go("Access")
    walk.click(page.get_by_role("row", name="alice").get_by_role("button", name="Add a policy"))
    visitor.fill(name="Ord")
    page.locator("datalist option[value=Orders]").wait_for(state="attached")
    visitor.fill(name="Orders")
    walk.click(page.get_by_label("Pub: send"))
    walk.click(page.get_by_label("Sub: receive"))
    visitor.sees("the user also needs Sub on the consumer group")
    assert not visitor.barriers()
    walk.button("Save")
    visitor.sees("Allow Pub, Sub Topic:Orders")
    assert walk.clicks == 5
    visitor.visit("topics/Orders")
    visitor.press("Grant access")
    visitor.fill(user="alice")
    page.get_by_role("dialog").get_by_label("Get: show").check()
    visitor.send()
    page.get_by_role("row", name="alice").get_by_text("Allow Get Topic:Orders").wait_for()
    assert not visitor.barriers()


LOGIN = (
    "authenticationEnabled=true",
    "authorizationEnabled=true",
    'initAuthenticationUser={"username":"root","password":"secret"}',
    'innerClientAuthenticationCredentials={"accessKey":"inner","secretKey":"inner-secret"}',
)
