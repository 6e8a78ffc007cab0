"""Every page and every action of the console, by eye, keyboard and axe."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from browser_tests.conftest import Server, Visitor
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import format_properties
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.codec.bodies.lite import LiteSubscription, LiteSubscriptionCtlRequestBody
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import PopMessageRequestHeader, SendMessageRequestHeaderV2
from mqgateway.gateway.mqadmin.connection import ServerConnection, plain

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
PICTURES = ("overview", "topics", "groups/Group-0", "dead-letters/Group-0")
"""Pages of which docs/ has a picture: `CONSOLE_PICTURES=docs/pictures tox -e browser`."""


def fill(visitor: Visitor) -> None:
    """A topic, a group that is behind, and two dead letters of it, through the API of the page."""
    ask = """async ([method, path, body]) => {
      const { ask } = await import('./static/api.js');
      return ask(method, path, body);
    }"""
    make = ("POST", "/topics")
    wanted: list[tuple[str, str, object]] = [
        (*make, {"topic": "Orders", "readQueues": 4, "writeQueues": 4}),
        (*make, {"topic": "%DLQ%Billing", "readQueues": 1, "writeQueues": 1}),
        (*make, {"topic": "Chat", "attributes": {"message.type": "LITE"}}),
        ("POST", "/groups", {"group": "Billing"}),
        ("POST", "/groups/Billing/reset", {"topic": "Orders", "to": "beginning"}),
    ]
    for number in range(12):
        body = json.dumps({"order": number, "amount": 10 * number})
        wanted.append(
            ("POST", "/topics/Orders/messages", {"body": body, "tags": "paid", "keys": f"o{number}"})
        )
    for number in range(2):
        dead = {"body": f"bad order {number}", "properties": {"RETRY_TOPIC": "Orders"}}
        wanted.append(("POST", "/topics/%25DLQ%25Billing/messages", dead))
    wanted.append(
        ("POST", "/topics/Orders/messages", {"body": "later", "properties": {"TIMER_DELAY_SEC": "1800"}})
    )
    for one in wanted:
        visitor.page.evaluate(ask, list(one))


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A small broker."""
    return serve()


@pytest.fixture
def visitor(server: Server, visit: Callable[..., Visitor]) -> Visitor:
    """At a small broker that has something of everything."""
    made = visit()
    made.open(server.url)
    fill(made)
    return made


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


def test_why_a_group_is_stuck_is_told_in_both_languages(visitor: Visitor) -> None:
    for language, asked, told in (
        ("en", "Why is it stuck?", "no member of the group Billing is connected"),
        ("zh", "为什么卡住了？", "没有消费者：消费组 Billing 没有在线成员，12 条消息在等待"),
    ):
        visitor.page.evaluate("language => { localStorage.language = language }", language)
        visitor.page.reload()
        visitor.visit("groups/Billing")
        visitor.press(asked)
        visitor.sees(told)


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


def test_a_connection_is_closed(visitor: Visitor, server: Server) -> None:
    host, port = server.summary["broker"].rsplit(":", 1)
    with socket.create_connection((host, int(port))) as client:
        address = ":".join(map(str, client.getsockname()))
        visitor.visit("connections")
        visitor.press(f"Close the connection {address}")
        visitor.press("Do it")
        visitor.sees("The connection is closed")
        with pytest.raises(ConnectionResetError):  # it never began to speak
            client.recv(1)
    visitor.visit("audit")
    visitor.sees("DELETE /connections/{connection}")


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
    visitor.press("Do it")
    visitor.sees("Lag: 0, Rate")
    visitor.page.get_by_role("button", name="Undo").first.click()
    visitor.sees("Lag: 12, Rate")
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


def test_settings_are_changed_with_the_difference_shown(visitor: Visitor) -> None:
    visitor.visit("settings?search=maxMessageSize")
    visitor.press("Change maxMessageSize")
    visitor.fill(value="1000000")
    visitor.send()
    visitor.sees("+ maxMessageSize=1000000")
    visitor.press("Do it")
    visitor.page.locator("td", has_text="1000000").wait_for()
    visitor.visit("audit")
    visitor.sees("PUT /settings")


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


def test_users_log_in_and_are_looked_after(
    serve: Callable[..., Server], visit: Callable[..., Visitor]
) -> None:
    server = serve(
        "authenticationEnabled=true",
        "authorizationEnabled=true",
        'initAuthenticationUser={"username":"root","password":"secret"}',
        'innerClientAuthenticationCredentials={"accessKey":"inner","secretKey":"inner-secret"}',
    )
    assert "token" not in server.url
    visitor = visit()
    visitor.page.goto(server.url)
    visitor.page.wait_for_selector("form")
    assert not visitor.barriers()
    visitor.fill(user="root", password="wrong")
    visitor.send()
    visitor.sees("the user or the password is wrong")
    visitor.fill(user="root", password="secret")
    visitor.send()
    visitor.page.wait_for_selector("nav")
    visitor.visit("access")
    visitor.press("Create a user")
    visitor.fill(user="alice", password="alice")
    visitor.send()
    visitor.page.get_by_role("cell", name="alice", exact=True).wait_for()
    visitor.press("Add a policy")
    visitor.fill(resource="Topic:Orders", action="Pub")
    visitor.send()
    visitor.sees("Allow Pub Topic:Orders")
    assert not visitor.barriers()
    visitor.fill(user="alice", action="Pub", resource="Topic:Orders")
    visitor.send()
    visitor.sees("yes: Topic:Orders")
    visitor.press("Log out")
    visitor.page.wait_for_selector("input[name=password]")


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
    paints = []
    for _ in range(5):
        visitor.page.reload()
        visitor.page.wait_for_selector("nav")
        painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        paints.append(visitor.page.evaluate(painted))
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


class Consumer:
    """A connection to the broker, for what the console cannot do itself."""

    def __init__(self, server: Server) -> None:
        self._connection = ServerConnection(server.summary["broker"], plain, SystemClock())

    def ask(self, code: RequestCode, header: Header | None = None, body: bytes = b"") -> RemotingCommand:
        """An answer that is no refusal."""
        fields = None if header is None else header.encode()
        answer = self._connection.ask(RemotingCommand(code, ext_fields=fields, body=body), 10)
        assert answer.code == 0, answer.remark
        return answer

    def close(self) -> None:
        """It is gone."""
        self._connection.close()


def pop_something(consumer: Consumer) -> None:
    """Five messages of Orders are out; of two lite topics of Chat one is."""
    pop = PopMessageRequestHeader(
        consumer_group="Billing",
        topic="Orders",
        queue_id=0,
        max_msg_nums=5,
        invisible_time=600_000,
        poll_time=0,
        init_mode=0,
        born_time=int(time.time() * 1000),
    )
    consumer.ask(RequestCode.POP_MESSAGE, pop)
    group = SubscriptionGroupConfig("Talkers", attributes={"+lite.bind.topic": "Chat"})
    consumer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=orjson.dumps(group.to_json()))
    send = SendMessageRequestHeaderV2(
        producer_group="Shop",
        topic="Chat",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=int(time.time() * 1000),
        flag=0,
    )
    for lite in ("rooms-1", "rooms-1", "rooms-2"):
        send.properties = format_properties({"__LITE_TOPIC": lite})
        consumer.ask(RequestCode.SEND_MESSAGE_V2, send, b"hello")
    wanted = LiteSubscription("COMPLETE_ADD", "talker-1", "Talkers", "Chat", {"rooms-1", "rooms-2"})
    consumer.ask(RequestCode.LITE_SUBSCRIPTION_CTL, body=LiteSubscriptionCtlRequestBody([wanted]).encode())


def test_pops_and_lite_topics_that_are_under_way(
    serve: Callable[..., Server], visit: Callable[..., Visitor], pictures: Path | None
) -> None:
    server, visitor = serve("enableLmq=true", "enableMultiDispatch=true"), visit()
    visitor.open(server.url)
    fill(visitor)
    consumer = Consumer(server)
    pop_something(consumer)
    shown = (("pops", "Billing"), ("lites", "Talkers"), ("lites/Chat", "talker-1"))
    for language, colours, width in (("en", "light", 1280), ("zh", "dark", 390)):
        visitor.page.set_viewport_size({"width": width, "height": 860})
        visitor.page.evaluate(
            "([language, colours]) => { localStorage.language = language; localStorage.theme = colours }",
            [language, colours],
        )
        visitor.page.reload()
        for address, seen in shown:
            visitor.visit(address)
            visitor.page.locator("main").get_by_text(seen).first.wait_for()
            assert not visitor.barriers()
            wide = visitor.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{address} is {wide} pixels wider than the screen"
            if pictures is not None:
                name = f"{address.replace('/', '-')}-{language}-{width}.png"
                visitor.page.screenshot(path=pictures / name)
    consumer.close()
