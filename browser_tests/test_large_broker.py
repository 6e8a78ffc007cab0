"""The console of a broker with many topics and groups."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from browser_tests.conftest import Server, Visitor

PICTURES = ("overview", "topics", "groups/Group-0", "dead-letters/Group-0")
"""Pages of which docs/ has a picture: `CONSOLE_PICTURES=docs/pictures tox -e browser`."""

SAMPLES_SECONDS = 60

LONG_LISTS = (
    "/topics",
    "/topics?sort=messages&descending=true",
    "/topics?sort=rate",
    "/topics?search=9999",
    "/groups",
    "/groups?sort=behind&descending=true",
    "/dead-letters",
    "/overview",
)

BIG_PAGES = (
    *("overview", "topics", "topics/Topic-0", "groups", "groups/Group-0"),
    *("dead-letters", "dead-letters/Group-0", "cluster", "audit"),
)


def write_tables(store: Path, topics: int, groups: int) -> None:
    """So many topics of four queues, and groups that consumed nothing of one topic each."""
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1}
    shape = {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "topicSysFlag": 0, "order": False}
    tables: dict[str, dict[str, object]] = {
        "topics.json": {
            "topicConfigTable": {f"Topic-{n}": {"topicName": f"Topic-{n}", **shape} for n in range(topics)}
        },
        "subscriptionGroup.json": {
            "subscriptionGroupTable": {f"Group-{n}": {"groupName": f"Group-{n}"} for n in range(groups)}
        },
        "consumerOffset.json": {
            "offsetTable": {f"Topic-{n}@Group-{n}": {str(q): 0 for q in range(4)} for n in range(groups)}
        },
    }
    (store / "config").mkdir(parents=True)
    for name, table in tables.items():
        (store / "config" / name).write_text(json.dumps({"dataVersion": version, **table}))


def test_ten_thousand_topics_and_two_thousand_groups(
    serve: Callable[..., Server],
    visit: Callable[..., Visitor],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pictures: Path | None,
) -> None:
    """With a group that is stuck and dead letters. The best of some times: other programs add to each."""
    write_tables(tmp_path / "0" / "store", 10_000, 2_000)
    visitor = visit()
    visitor.open(serve().url)
    put = """async count => {
      const { ask } = await import('./static/api.js');
      for (let at = 0; at < count; at += 1) {
        await ask('POST', `/topics/Topic-${at % 20}/messages`, { body: `message ${at}` });
      }
      await ask('POST', '/topics', { topic: '%DLQ%Group-0', readQueues: 1, writeQueues: 1 });
      for (let at = 0; at < 3; at += 1) {
        const properties = { RETRY_TOPIC: 'Topic-0' };
        await ask('POST', '/topics/%25DLQ%25Group-0/messages', { body: `dead ${at}`, properties });
      }
    }"""
    visitor.page.evaluate(put, 200)
    asked = """async path => {
      const { ask } = await import('./static/api.js');
      const began = performance.now();
      await ask('GET', path);
      return performance.now() - began;
    }"""
    millis = {path: min(visitor.page.evaluate(asked, path) for _ in range(5)) for path in LONG_LISTS}
    paints = [visitor.first_paint() for _ in range(5)]
    wait_for_samples(visitor)
    barriers = {}
    for address in BIG_PAGES:
        visitor.visit(address)
        assert visitor.page.inner_text("h1") and not visitor.page.locator(".bad[role=alert]").count()
        if address == "overview":
            visitor.page.wait_for_selector("figure canvas")
        barriers[address] = visitor.barriers()
        if address == "groups/Group-0":
            visitor.press("Why is it stuck?")
            visitor.sees("no member of the group Group-0 is connected")
            barriers[f"{address}, why it is stuck"] = visitor.barriers()
        if pictures is not None and address in PICTURES:
            visitor.page.screenshot(path=pictures / f"console-{address.partition('/')[0]}.png")
        visitor.page.keyboard.press("Escape")
    with capsys.disabled():
        print({path: f"{took:.0f} ms" for path, took in millis.items()}, f"first paint {min(paints):.0f} ms")
    assert not any(barriers.values()), barriers
    assert max(millis.values()) < 300 and min(paints) < 1000


def wait_for_samples(visitor: Visitor) -> None:
    """Wait until there is a chart to draw: two samples, one each 10 s.

    A page that was opened before asks for samples only each 30 s.
    """
    has_two = """async () => {
      const { ask } = await import('./static/api.js');
      return (await ask('GET', '/series?minutes=60')).time.length >= 2;
    }"""
    end = time.monotonic() + SAMPLES_SECONDS
    while not visitor.page.evaluate(has_two):
        assert time.monotonic() < end, f"there are no two samples after {SAMPLES_SECONDS} s"
        visitor.page.wait_for_timeout(500)
