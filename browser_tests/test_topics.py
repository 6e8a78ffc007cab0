"""The pages of topics and messages."""

from __future__ import annotations

from collections.abc import Callable

from browser_tests.conftest import Server, Visitor, fill


def test_topics_are_made_changed_and_deleted(visitor: Visitor) -> None:
    visitor.visit("topics")
    visitor.press("Create a topic")
    visitor.fill(topic="Made", readQueues="3", writeQueues="3", type="FIFO")
    visitor.send()
    visitor.page.wait_for_url("**#/topics/Made")
    visitor.sees("FIFO")
    visitor.press("Change")
    visitor.fill(perm="4")
    visitor.send()
    visitor.sees("R-")
    visitor.press("Delete")
    visitor.fill(name="Wrong")
    visitor.send()
    visitor.sees("The name does not match")
    visitor.fill(name="Made")
    visitor.send()
    visitor.page.wait_for_url("**#/topics")
    assert not visitor.page.get_by_role("link", name="Made").count()


def test_messages_are_sent_tailed_and_found(visitor: Visitor) -> None:
    visitor.visit("topics/Orders")
    with visitor.page.expect_response("**/tail"):  # what is sent from then on is shown
        visitor.press("Show messages as they arrive")
    visitor.press("Send a message")
    visitor.fill(body="hello tail", tags="t", keys="key-of-mine")
    visitor.send()
    visitor.page.get_by_role("link", name="hello tail").wait_for()
    visitor.visit("messages?how=topic&topic=Orders&text=hello")
    visitor.sees("found: 1")
    visitor.visit("messages?how=key")
    visitor.fill(topic="Orders", name="key-of-mine")
    visitor.send()
    visitor.page.get_by_role("link", name="hello tail").click()
    visitor.sees("Groups that have consumed it")
    assert visitor.page.inner_text("pre") == "hello tail"
    visitor.visit("messages?how=topic&topic=Orders&budget=5")
    visitor.sees("left: 8")
    visitor.press("Continue")
    visitor.sees("Read: 10")


def test_the_trace_of_a_message_is_drawn(serve: Callable[..., Server], visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(serve("traceTopicEnable=true").url)
    fill(visitor)
    ask = """async ([path, body]) => {
      const { ask } = await import('./static/api.js');
      return ask(body ? 'POST' : 'GET', path, body);
    }"""
    said = (
        "Pub 1000 Region Shop Orders U1 tag key host 5 12 0 OFFSET true",
        "SubBefore 1100 Region Billing n U1 0 key",
        "SubAfter n U1 7 false key 0 1107 Billing",
        "SubBefore 1100 Region Others m U1 0 key",
    )
    trace = "".join(record.replace(" ", "\x01") + "\x02" for record in said)
    for path, body in (
        ("/topics/Orders/messages", {"body": "traced", "properties": {"UNIQ_KEY": "U1"}}),
        ("/topics/RMQ_SYS_TRACE_TOPIC/messages", {"body": trace, "keys": "U1"}),
    ):
        visitor.page.evaluate(ask, [path, body])
    [row] = visitor.page.evaluate(ask, ["/messages/by-key?topic=Orders&key=U1", None])["rows"]
    visitor.visit(f"messages/{row['id']}")
    visitor.page.locator("svg.graph").wait_for()
    assert visitor.page.locator("svg.graph .node").count() == 4
    assert visitor.page.locator("svg.graph .failed").count() == 1
    assert not visitor.barriers()
