"""Dialogs, the page of one message, and results of a search, at all widths, in both languages and colours."""

from __future__ import annotations

from browser_tests.conftest import Visitor
from browser_tests.test_pages import ENGLISH, FAULTS_OF_LAYOUT, HEIGHT, WIDTHS

DIALOGS = (
    ("topics", "Create a topic", "创建主题"),
    ("topics/Orders", "Send a message", "发送消息"),
    ("topics/Orders", "Change", "修改"),
    ("topics/Orders", "Delete", "删除"),
    ("groups", "Create a group", "创建消费组"),
    ("groups/Billing", "Reset offsets", "重置位点"),
    ("groups/Billing", "Why is it stuck?", "为什么卡住了？"),
    ("settings?search=consoleIdleMinutes", "Change consoleIdleMinutes", "修改 consoleIdleMinutes"),
    ("overview", "Shortcuts", "快捷键"),
    ("overview", "Go to", "前往"),
)
"""Pages with the names of a button in English and Chinese that opens a dialog."""

LOOKS = (("en", "light"), ("zh", "dark"))

FAULTS_OF_DIALOG = """() => {
  const { left, right } = document.querySelector('dialog').getBoundingClientRect();
  return left < 0 || right > innerWidth ? [`the dialog is at ${left} to ${right} pixels`] : [];
}"""


def look(visitor: Visitor, language: str, colours: str) -> None:
    """Show the console in a language and in light or dark colours."""
    visitor.page.evaluate(
        "([language, theme]) => { localStorage.language = language; localStorage.theme = theme }",
        [language, colours],
    )
    visitor.page.reload()
    visitor.page.wait_for_selector("nav")


def faults(visitor: Visitor, language: str, *scripts: str) -> dict[str, list[str]]:
    """Return what is wrong with the layout by width, English words in Chinese, and barriers."""
    found: dict[str, list[str]] = {}
    for width in WIDTHS:
        visitor.page.set_viewport_size({"width": width, "height": HEIGHT})
        found[str(width)] = [one for script in scripts for one in visitor.page.evaluate(script)]
    found["English"] = visitor.page.evaluate(ENGLISH) if language == "zh" else []
    found["barriers"] = visitor.barriers()
    return {name: complaints for name, complaints in found.items() if complaints}


def test_dialogs_fit_and_are_there_for_everybody(visitor: Visitor) -> None:
    found = {}
    for number, (language, colours) in enumerate(LOOKS):
        look(visitor, language, colours)
        for address, *names in DIALOGS:
            visitor.visit(address)
            visitor.press(names[number])
            visitor.page.get_by_role("dialog").wait_for()
            found[f"{language} {address} {names[number]}"] = faults(
                visitor, language, FAULTS_OF_LAYOUT, FAULTS_OF_DIALOG
            )
            visitor.page.keyboard.press("Escape")
            visitor.page.get_by_role("dialog").wait_for(state="detached")
    assert not {name: one for name, one in found.items() if one}


def test_message_and_results_of_a_search_fit_and_are_there_for_everybody(visitor: Visitor) -> None:
    first = """async () => {
      const { ask } = await import('./static/api.js');
      return (await ask('GET', '/messages?topic=Orders')).rows[0].id;
    }"""
    addresses = (
        f"messages/{visitor.page.evaluate(first)}",
        "messages?how=topic&topic=Orders&expression=$.amount > 50&at=1",
        "messages?how=key&topic=Orders&name=o3",
        "no-such-page",
    )
    found = {}
    for language, colours in LOOKS:
        look(visitor, language, colours)
        for address in addresses:
            visitor.visit(address)
            opener = visitor.page.locator("td button[aria-expanded]")
            if opener.count():
                opener.first.click()
                visitor.page.locator("td.below pre, td.below .tree").first.wait_for()
            found[f"{language} {address}"] = faults(visitor, language, FAULTS_OF_LAYOUT)
    assert not {name: one for name, one in found.items() if one}


def test_pages_print_dark_on_light_without_the_frame(visitor: Visitor) -> None:
    look(visitor, "en", "dark")
    visitor.visit("topics/Orders")
    visitor.page.emulate_media(media="print")
    colours = """() => [document.body, document.querySelector('td')]
      .map((one) => getComputedStyle(one)).map((style) => [style.color, style.backgroundColor])"""
    [[text, paper], [cell, _]] = visitor.page.evaluate(colours)
    assert (text, cell, paper) == ("rgb(0, 0, 0)", "rgb(0, 0, 0)", "rgb(255, 255, 255)")
    assert (
        not visitor.page.locator("nav").is_visible() and not visitor.page.locator(".bar").first.is_visible()
    )
