"""Every page by eye, keyboard and axe; links, and a console that changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from browser_tests.conftest import Server, Visitor

PAGES = (
    "overview",
    "topics",
    "topics/Orders",
    "groups",
    "groups/Billing",
    "messages?how=topic&topic=Orders",
    "messages?how=key",
    "messages?how=id",
    "dead-letters",
    "dead-letters/Billing",
    "delayed",
    "transactions",
    "pops",
    "lites",
    "lites/Chat",
    "connections",
    "store",
    "cluster",
    "settings?search=console",
    "access",
    "audit",
)


def test_every_page_is_there_for_everybody(visitor: Visitor) -> None:
    barriers = {}
    for colours in ("light", "dark"):
        visitor.page.evaluate("colours => { localStorage.theme = colours }", colours)
        for language in ("en", "zh"):
            visitor.page.evaluate("language => { localStorage.language = language }", language)
            visitor.page.reload()
            for address in PAGES:
                visitor.visit(address)
                assert visitor.page.inner_text("h1") and not visitor.page.locator(".bad[role=alert]").count()
                found = visitor.barriers()
                if found:
                    barriers[f"{colours} {language} {address}"] = found
    assert not barriers


def test_an_address_that_changes_before_the_first_paint_is_followed(visitor: Visitor) -> None:
    visitor.page.add_init_script(
        """new MutationObserver((changes, observer) => {
          if (!document.querySelector('main h1')) return;
          observer.disconnect();
          location.hash = '#/groups/Billing';
        }).observe(document, { childList: true, subtree: true });"""
    )
    visitor.page.reload()
    visitor.page.get_by_role("heading", name="Billing").wait_for()


def test_by_keyboard_alone(visitor: Visitor) -> None:
    keys = visitor.page.keyboard
    keys.press("g")
    keys.press("t")
    visitor.page.wait_for_url("**#/topics")
    visitor.sees("Orders")
    keys.press("/")
    keys.type("ord")
    visitor.page.wait_for_url("**search=ord")
    visitor.page.locator("h1").focus()
    keys.press("?")
    visitor.page.get_by_role("dialog").wait_for()
    keys.press("Escape")
    visitor.page.get_by_role("dialog").wait_for(state="detached")
    keys.press("Tab")
    assert visitor.page.evaluate("document.activeElement.tagName") in ("A", "BUTTON", "INPUT", "DIV")


def test_a_read_only_console_offers_no_change(
    serve: Callable[..., Server], visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    visitor.open(serve("consoleReadOnly=true").url)
    visitor.sees("read only")
    for address, button in (("topics", "Create a topic"), ("groups", "Create a group")):
        visitor.visit(address)
        assert not visitor.page.get_by_role("button", name=button).count()


def test_a_link_opens_once(serve: Callable[..., Server], visit: Callable[..., Visitor]) -> None:
    server = serve()
    visit().open(server.url)
    second = visit()
    second.page.goto(server.url)
    second.page.wait_for_selector("input[name=token]")
    assert not second.barriers()
