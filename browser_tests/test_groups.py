"""The pages of groups and dead letters."""

from __future__ import annotations

import re
from pathlib import Path

from browser_tests.conftest import Visitor


def test_cause_of_a_stuck_group_is_shown_in_both_languages(visitor: Visitor) -> None:
    for language, asked, expected in (
        ("en", "Why is it stuck?", "no member of the group Billing is connected"),
        ("zh", "为什么卡住了？", "没有消费者：消费组 Billing 没有在线成员，12 条消息在等待"),
    ):
        visitor.page.evaluate("language => { localStorage.language = language }", language)
        visitor.page.reload()
        visitor.visit("groups/Billing")
        visitor.press(asked)
        visitor.sees(expected)


def test_groups_are_made_reset_undone_and_deleted(visitor: Visitor) -> None:
    visitor.visit("groups")
    visitor.press("Create a group")
    visitor.fill(group="MadeGroup", retryMaxTimes="3")
    visitor.send()
    visitor.page.wait_for_url("**#/groups/MadeGroup")
    visitor.visit("groups/Billing")
    visitor.press("Reset offsets")
    visitor.fill(to="end")
    visitor.send()
    visitor.sees("Nothing is changed yet")
    visitor.press("Apply")
    visitor.sees("Lag: 0, Fetched")
    visitor.page.get_by_role("button", name="Undo").first.click()
    visitor.sees("Lag: 12, Fetched")
    visitor.press("Change")
    visitor.fill(retryMaxTimes="5")
    visitor.send()
    visitor.page.locator("dd", has_text=re.compile("^5$")).first.wait_for()
    visitor.visit("groups/MadeGroup")
    visitor.press("Delete")
    visitor.fill(name="MadeGroup")
    visitor.send()
    visitor.page.wait_for_url("**#/groups")


def test_dead_letters_are_sent_again(visitor: Visitor) -> None:
    visitor.visit("dead-letters/Billing")
    visitor.press("Choose all")
    visitor.press("Send again (2)")
    visitor.sees("Results")
    visitor.sees("Sent again: 2 / 2")
    with visitor.page.expect_download() as download:
        visitor.press("Download as JSON lines")
    assert len(Path(download.value.path()).read_text().splitlines()) == 2
