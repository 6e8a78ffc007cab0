"""Bodies in the rows of a search, files of its messages, and choices that a browser keeps."""

from __future__ import annotations

import json
from pathlib import Path

from browser_tests.conftest import Visitor


def test_body_is_opened_in_its_row_in_three_forms(visitor: Visitor) -> None:
    visitor.visit("messages?how=topic&topic=Orders&key=o3")
    page = visitor.page
    page.locator("tbody tr").first.get_by_role("button").click()
    page.locator(".tree li", has_text="amount").first.wait_for()
    assert "30" in page.locator(".tree").first.inner_text()
    visitor.press("Hexadecimal")
    assert page.locator(".dump").inner_text().startswith("00000000  7b 22 6f 72 64 65 72 22")
    visitor.press("Text", exact=True)
    page.get_by_label("Body", exact=True).filter(has_text='{"order": 3, "amount": 30}').wait_for()
    assert not visitor.barriers()
    with page.expect_download() as download:
        visitor.press("Download as CSV")
    head, row = Path(download.value.path()).read_text().splitlines()
    assert head.startswith("id,uniqueKey,topic") and ",Orders," in row and ",o3," in row
    with page.expect_download() as download:
        visitor.press("Download as JSON lines")
    assert json.loads(Path(download.value.path()).read_text())["keys"] == "o3"


def test_order_columns_and_refresh_are_kept(visitor: Visitor) -> None:
    page = visitor.page
    visitor.visit("topics")
    page.locator("thead").get_by_role("button", name="Messages").click()
    page.locator("th[aria-sort=descending]").wait_for()
    page.get_by_text("Columns").click()
    page.get_by_label("Permission", exact=True).uncheck()
    page.get_by_label("Time between refreshes").select_option("60")
    visitor.visit("groups")
    page.reload()
    visitor.visit("topics")
    page.locator("th[aria-sort=descending]", has_text="Messages").wait_for()
    assert not page.get_by_role("columnheader", name="Permission").count()
    assert page.get_by_label("Time between refreshes").input_value() == "60"


def test_palette_opens_a_group_by_keyboard(visitor: Visitor) -> None:
    visitor.visit("overview")
    keys = visitor.page.keyboard
    keys.press("Control+k")
    visitor.page.get_by_role("dialog").get_by_role("combobox").fill("Billi")
    visitor.page.get_by_role("option", name="Billing").first.wait_for()
    assert not visitor.barriers()
    keys.press("Enter")
    visitor.page.wait_for_url("**#/groups/Billing")


def test_messages_are_filtered_by_an_expression_and_saved_whole(visitor: Visitor) -> None:
    page = visitor.page
    visitor.visit("messages")
    visitor.fill(topic="Orders", expression="KEYS = 'o3' OR KEYS =")
    visitor.send()
    visitor.sees("expression, character 22: ")
    visitor.fill(topic="Orders", expression="$.order = 3 OR KEYS = 'o4' AND BODY CONTAINS 'amount'")
    visitor.send()
    visitor.sees("found: 2")
    with page.expect_download() as download:
        visitor.press("Download as JSON lines")
    saved = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert sorted(one["properties"]["KEYS"] for one in saved) == ["o3", "o4"]
    assert json.loads(saved[0]["body"]).keys() == {"order", "amount"}
    with page.expect_download() as download:
        visitor.press("Download as CSV")
    assert len(Path(download.value.path()).read_text().splitlines()) == 3


def test_body_is_saved_whole(visitor: Visitor) -> None:
    send = """async body => {
      const { ask } = await import('./static/api.js');
      return (await ask('POST', '/topics/Orders/messages', { body })).id;
    }"""
    body = "x" * 100_000
    visitor.visit(f"messages/{visitor.page.evaluate(send, body)}")
    visitor.sees("Only the first 64 KiB are shown")
    with visitor.page.expect_download() as download:
        visitor.press("Download")
    assert Path(download.value.path()).read_text() == body
