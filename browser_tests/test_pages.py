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
    "groups/Billing?show=diagnosis",
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
    "settings",
    "settings?search=console",
    "access",
    "audit",
)
WIDTHS = (390, 768, 1280, 1920)
HEIGHT = 860
SCREENS_MAX = 10
BOXES_MAX = 100

FAULTS_OF_LAYOUT = """() => {
  const faults = [];
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) faults.push(`${page.scrollWidth} pixels wide`);
  if (page.scrollHeight > SCREENS_MAX * innerHeight) faults.push(`${page.scrollHeight} pixels tall`);
  const walker = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node; (node = walker.nextNode()); ) {
    for (const { 0: word, index } of node.data.matchAll(/[A-Za-z0-9_]+/g)) {
      if (word.length > LETTERS_MAX || node.parentElement.closest('pre')) continue;
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = [...range.getClientRects()].map((one) => Math.round(one.top));
      if (new Set(tops).size > 1) faults.push(`${word} is broken`);
    }
  }
  return faults;
}""".replace("SCREENS_MAX", str(SCREENS_MAX)).replace("LETTERS_MAX", "24")
"""Longer words are identifiers, which may be broken."""

ENGLISH = """() => [...document.querySelectorAll(
    'nav a, h1, h2, h3, th, dt, caption, figcaption, button, label, summary')]
  .map((one) => one.textContent.replace('JSON Lines', ''))
  .filter((text) => /[a-z]{2,} [a-z]{2,}/i.test(text))"""


def test_no_page_breaks_words_or_is_too_large(visitor: Visitor) -> None:
    faults = {}
    for language in ("en", "zh"):
        visitor.page.evaluate("language => { localStorage.language = language }", language)
        visitor.page.reload()
        for address in PAGES:
            visitor.visit(address)
            english = visitor.page.evaluate(ENGLISH) if language == "zh" else []
            if english:
                faults[f"{address} in Chinese"] = english
            for width in WIDTHS:
                visitor.page.set_viewport_size({"width": width, "height": HEIGHT})
                found = visitor.page.evaluate(FAULTS_OF_LAYOUT)
                if found:
                    faults[f"{language} {width} {address}"] = found
    assert not faults


def test_results_of_a_search_are_in_view(visitor: Visitor) -> None:
    for width in (390, 1280):
        visitor.page.set_viewport_size({"width": width, "height": HEIGHT})
        visitor.visit("messages")
        visitor.fill(topic="Orders", text="order")
        visitor.send()
        row = visitor.page.locator("tbody tr").first
        row.wait_for()
        # A row that is drawn again has no box for a moment.
        boxes = (row.bounding_box() for _ in range(BOXES_MAX) if not visitor.page.wait_for_timeout(100))
        box = next(box for box in boxes if box is not None)
        assert box["y"] + box["height"] <= HEIGHT, (width, box)


def test_every_page_is_there_for_everybody(visitor: Visitor) -> None:
    barriers = {}
    for colours, language in (("light", "en"), ("dark", "zh")):
        visitor.page.evaluate(
            "([colours, language]) => { localStorage.theme = colours; localStorage.language = language }",
            [colours, language],
        )
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
