"""The brokers of a cluster: figures, statistics, and settings beside another broker's."""

from __future__ import annotations

from collections.abc import Callable

from browser_tests.conftest import Server, Visitor


def test_brokers_are_shown_and_compared(serve: Callable[..., Server], visit: Callable[..., Visitor]) -> None:
    server, visitor = serve("--brokers=2"), visit()
    visitor.open(server.url)
    visitor.visit("cluster")
    page = visitor.page
    page.get_by_role("button", name="Compare the settings of").first.wait_for()
    assert page.get_by_text("this one").count() == 1
    page.get_by_text("All runtime statistics of a broker").click()
    page.get_by_role("cell", name="commitLogMaxOffset").wait_for()
    assert not visitor.barriers()
    page.get_by_role("button", name="Compare the settings of").first.click()
    page.get_by_role("dialog").get_by_role("cell", name="listenPort").wait_for()
    assert not visitor.barriers()


def test_topics_and_groups_of_all_brokers_are_in_one_list(
    serve: Callable[..., Server], visit: Callable[..., Visitor]
) -> None:
    server, visitor = serve("--brokers=2"), visit()
    visitor.open(server.url)
    page = visitor.page
    make = """async () => {
      const { ask } = await import('./static/api.js');
      await ask('POST', '/topics', { topic: 'Shared', readQueues: 3, writeQueues: 3 });
      await ask('POST', '/topics/Shared/messages', { body: 'one' });
      await ask('POST', '/groups', { group: 'Billing' });
    }"""
    page.evaluate(make)
    visitor.visit("topics")
    row = page.get_by_role("row", name="Shared")
    row.get_by_role("cell", name="6", exact=True).wait_for()
    row.get_by_role("button", name="Open Shared").click()
    table = page.get_by_role("region", name="Shared: by broker")
    assert table.locator("tbody tr").count() == 2
    assert not visitor.barriers()
    own = table.locator("tr", has_text="this one").locator(".whole").inner_text()
    page.get_by_role("combobox", name="Broker", exact=True).select_option(own)
    page.locator("thead").get_by_role("button", name="In per second").click()
    page.locator("th[aria-sort=descending]").wait_for()
    page.get_by_role("combobox", name="Broker", exact=True).select_option("all brokers")
    page.get_by_role("button", name="Open Shared").wait_for()
    page.locator("thead").get_by_role("button", name="Messages").click()
    page.locator("th[aria-sort=descending]", has_text="Messages").wait_for()
    page.get_by_role("button", name="Open Shared").wait_for()
    visitor.visit("topics/Shared")
    visitor.sees("Queues: 6, Brokers: 2")
    visitor.visit("groups")
    page.get_by_role("button", name="Open Billing").click()
    table = page.get_by_role("region", name="Billing: by broker")
    table.wait_for()
    table.get_by_role("cell", name="no members").wait_for()
    page.locator("thead").get_by_role("button", name="Lag").click()
    page.locator("th[aria-sort=descending]").wait_for()
    assert not visitor.barriers()
