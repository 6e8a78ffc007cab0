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
