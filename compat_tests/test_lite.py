"""LMQ queues and lite topics on both servers: the same requests in the same order, the same answers.

No official client of 5.5.0 offers lite topics by itself, proxies do; the requests here are a proxy's. The
official mqadmin queries what operators see of them.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from typing import Any

import pytest

from compat_tests.support.mqadmin import Mqadmin, normalised
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import BROKER_NAME
from mqgateway.engine.message import format_properties
from mqgateway.engine.store.record import decode
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode

LIGHT = {"enableLmq": "true", "enableMultiDispatch": "true"}
PARENT, GROUP, CLIENT = "LiteRooms", "LiteReaders", "client-1"
INVISIBLE = 10_000
"""Of messages that are not acknowledged, and are popped a second time."""
PATIENCE = 60.0
"""Seconds to wait for messages."""


class Proxy:
    """A connection like a proxy's; `outcomes` is the transcript to compare."""

    def __init__(self, connection: RawConnection) -> None:
        self._connection = connection
        self.outcomes: list[Any] = []

    def ask(self, code: int, fields: dict[str, Any] | None = None, body: bytes = b"") -> Any:
        """Send a request and return the answer; record its code and remark."""
        texts = {name: str(value) for name, value in (fields or {}).items()}
        answer = self._connection.ask(code, texts, body)
        assert answer is not None
        # No client reads the remark of a success (Apache's may say that no code was set), nor the reason why
        # a pull found nothing (Apache's creates any requested queue, and then reports it as empty).
        is_read = answer.code not in (ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND)
        self.outcomes.append((code, answer.code, answer.remark if is_read else None))
        return answer

    def send(self, body: str, properties: dict[str, str], topic: str = PARENT) -> None:
        """Send one message to queue 0."""
        fields = {"a": "P", "b": topic, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "j": 0}
        fields |= {"i": format_properties(properties), "k": "false", "m": "false"}
        assert self.ask(RequestCode.SEND_MESSAGE_V2, fields, body.encode()).code == 0
        time.sleep(0.3)  # Apache's broker makes messages readable a little after it acknowledged them

    def subscribe(self, action: str, *names: str, group: str = GROUP, **more: Any) -> None:
        """Change the client's subscriptions of lite topics."""
        change = {"action": action, "clientId": CLIENT, "group": group, "topic": PARENT, "version": 0}
        change |= {"liteTopicSet": list(names)} | more
        body = json.dumps({"subscriptionSet": [change]}).encode()
        self.ask(RequestCode.LITE_SUBSCRIPTION_CTL, None, body)

    def pop(self, most: int = 32, wait: int = 0, **more: Any) -> tuple[dict[str, str], list[Any]]:
        """Pop messages, repeatedly until there are some if `wait` is not 0; record the last answer."""
        fields = {"clientId": CLIENT, "consumerGroup": GROUP, "topic": PARENT, "maxMsgNum": most}
        fields |= {"invisibleTime": INVISIBLE, "pollTime": wait}
        before, deadline = len(self.outcomes), time.monotonic() + (PATIENCE if wait else 0)
        while True:
            born = {"bornTime": int(time.time() * 1000)}
            answer = self.ask(RequestCode.POP_LITE_MESSAGE, fields | born | more)
            if answer.body or time.monotonic() >= deadline:
                break
            del self.outcomes[before:]
        found, at = [], 0
        while at < len(answer.body):
            found.append(decode(answer.body, at))
            at += found[-1].size
        shown = {name: answer.ext_fields.get(name) for name in ("reviveQid", "orderCountInfo")}
        names = ("__LITE_TOPIC", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET")
        self.outcomes.append(
            (shown, [(m.body, m.topic, [m.properties.get(name) for name in names]) for m in found])
        )
        return answer.ext_fields, found

    def ack(self, popped: dict[str, str], message: Any, **more: Any) -> None:
        """Acknowledge a popped message."""
        self.ask(RequestCode.ACK_MESSAGE, self._named(popped, message) | more)

    def hide(self, popped: dict[str, str], message: Any, millis: int, **more: Any) -> None:
        """Change the invisible time of a message to `millis`."""
        fields = self._named(popped, message) | {"invisibleTime": millis} | more
        answer = self.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, fields)
        self.outcomes.append(answer.ext_fields.get("reviveQid"))

    def _named(self, popped: dict[str, str], message: Any) -> dict[str, Any]:
        offset = message.properties["INNER_MULTI_QUEUE_OFFSET"]
        times = f"{popped['popTime']} {popped['invisibleTime']} {popped['reviveQid']}"
        return {
            "consumerGroup": GROUP,
            "topic": PARENT,
            "queueId": 0,
            "extraInfo": f"0 {times} 0 {BROKER_NAME} 0 {offset}",
            "offset": offset,
            "liteTopic": message.properties["__LITE_TOPIC"],
        }

    def pull(self, topic: str, offset: int, **more: Any) -> None:
        """Pull from a queue and record the answer."""
        fields = {"consumerGroup": GROUP, "topic": topic, "queueId": 0, "queueOffset": offset}
        fields |= {"maxMsgNums": 32, "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 0}
        fields |= {"subscription": "*", "subVersion": 1, "expressionType": "TAG"}
        answer = self.ask(RequestCode.PULL_MESSAGE, fields | more)
        found, at = [], 0
        while at < len(answer.body):
            message = decode(answer.body, at)
            at += message.size
            found.append((message.topic, message.body, message.properties.get("INNER_MULTI_QUEUE_OFFSET")))
        names = ("minOffset", "maxOffset", "nextBeginOffset")
        self.outcomes.append((found, [answer.ext_fields.get(name) for name in names]))


def prepare(proxy: Proxy, admin: Mqadmin, namesrv: str, broker: str) -> None:
    """Create the parent topic and the groups."""
    attributes = "+message.type=LITE,+lite.topic.expiration=30"
    made = admin.run(
        "updateTopic", "-n", namesrv, "-b", broker, "-t", PARENT, "-r", "4", "-w", "4", "-a", attributes
    )
    assert made.has_made_topic, made
    for group, bound in ((GROUP, PARENT), ("LitePlain", None)):
        attributes_of_group = {} if bound is None else {"+lite.bind.topic": bound}
        config = {"groupName": group, "attributes": attributes_of_group}
        proxy.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, json.dumps(config).encode())
    wait_until(lambda: BROKER_NAME in admin.run("topicRoute", "-n", namesrv, "-t", PARENT).out, 30, "a route")


def lite_topics(proxy: Proxy) -> None:
    """Subscribe, pop and acknowledge."""
    proxy.subscribe("PARTIAL_ADD", "a", "b")
    for number, name in enumerate("aabca"):
        proxy.send(f"{number}", {"__LITE_TOPIC": name})
    popped, messages = proxy.pop(2)
    proxy.pop()
    proxy.pop()
    proxy.ack(popped, messages[0], offset=9)
    proxy.ack(popped, messages[0], queueId=1)
    proxy.ack(popped, messages[0], consumerGroup="LitePlain")
    for message in messages:
        proxy.ack(popped, message)
    popped, messages = proxy.pop(wait=3000)
    proxy.hide(popped, messages[0], 500)
    time.sleep(1.5)
    popped, messages = proxy.pop(wait=3000)
    proxy.hide(popped, messages[0], 500, suspend="true")
    time.sleep(1.5)
    popped, messages = proxy.pop(wait=3000)
    proxy.ack(popped, messages[0])
    proxy.subscribe("PARTIAL_ADD", "c", offsetOption={"type": "POLICY", "value": 1})
    popped, messages = proxy.pop(wait=3000)
    proxy.ack(popped, messages[0])
    proxy.subscribe("PARTIAL_REMOVE", "c")
    proxy.subscribe("COMPLETE_ADD", "a", "d")


def refusals(proxy: Proxy) -> None:
    """Send invalid requests; record their refusals."""
    proxy.ask(RequestCode.LITE_SUBSCRIPTION_CTL)
    proxy.ask(RequestCode.LITE_SUBSCRIPTION_CTL, None, b'{"subscriptionSet":[]}')
    proxy.pop(topic="TBW102")
    proxy.pop(topic="LiteNowhere")
    proxy.pop(consumerGroup="LitePlain")
    proxy.pop(33)
    proxy.ask(RequestCode.GET_PARENT_TOPIC_INFO, {"topic": "LiteNowhere"})
    proxy.ask(RequestCode.GET_PARENT_TOPIC_INFO, {"topic": "TBW102"})
    proxy.ask(
        RequestCode.GET_LITE_CLIENT_INFO, {"parentTopic": PARENT, "group": "LitePlain", "clientId": CLIENT}
    )
    proxy.ask(RequestCode.GET_LITE_GROUP_INFO, {"group": "LitePlain", "liteTopic": "a", "topK": 5})
    proxy.ask(RequestCode.TRIGGER_LITE_DISPATCH, {"group": "LitePlain"})


def light_queues(proxy: Proxy) -> None:
    """Send to LMQ queues that messages name in their properties, and pull from them."""
    for number, names in enumerate(("%LMQ%x", "%LMQ%x,%LMQ%y", "%LMQ%y")):
        proxy.send(f"l{number}", {"INNER_MULTI_DISPATCH": names})
    for queue in ("%LMQ%x", "%LMQ%y"):
        proxy.pull(queue, 0)
        ask_for_ends(proxy, queue)
    proxy.pull(PARENT, 0, liteTopic="a")
    proxy.pull(PARENT, 1, liteTopic="b")
    header = {"topic": "%LMQ%y", "queueId": 0, "consumerGroup": "%LMQ%g"}
    proxy.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header | {"commitOffset": 1})
    proxy.outcomes.append(proxy.ask(RequestCode.QUERY_CONSUMER_OFFSET, header).ext_fields.get("offset"))


def ask_for_ends(proxy: Proxy, queue: str) -> None:
    """Record the maximum and minimum offset of an LMQ queue."""
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET):
        proxy.outcomes.append(proxy.ask(code, {"topic": queue, "queueId": 0}).ext_fields["offset"])


def no_light_queue(proxy: Proxy) -> None:
    """Read a queue that no message named. This step is the last, as Apache's broker then counts the queue."""
    proxy.pull("%LMQ%none", 0)
    ask_for_ends(proxy, "%LMQ%none")


def seen_by_operators(proxy: Proxy, admin: Mqadmin, namesrv: str, broker: str) -> None:
    """Record the output of mqadmin."""
    commands = (
        ("getBrokerLiteInfo", "-b", broker, "-d"),
        ("getParentTopicInfo", "-p", PARENT),
        ("getLiteTopicInfo", "-p", PARENT, "-l", "a", "-s"),
        ("getLiteClientInfo", "-p", PARENT, "-g", GROUP, "-c", CLIENT, "-s"),
        ("getLiteGroupInfo", "-p", PARENT, "-g", GROUP, "-l", "a"),
        ("triggerLiteDispatch", "-p", PARENT, "-g", GROUP, "-c", CLIENT),
    )
    for command in commands:
        output = admin.run(*command, "-n", namesrv)
        # The number of queues includes those that Apache's broker creates for its own topics.
        shown = re.sub(r"(?<=default)( \d+ \d+ \d+ \d+) \d+", r"\1 QUEUES", normalised(output.out))
        proxy.outcomes.append((command[0], shown, output.exit))


def transcript(peers: Peers, kind: str) -> list[Any]:
    """Return the transcript of a server."""
    with ExitStack() as stack:
        server = stack.enter_context(peers.fresh(kind, LIGHT))
        proxy = Proxy(stack.enter_context(RawConnection(server.broker_address)))
        admin = Mqadmin(peers.runtime)
        stack.callback(admin.close)
        prepare(proxy, admin, server.namesrv_address, server.broker_address)
        lite_topics(proxy)
        refusals(proxy)
        light_queues(proxy)
        seen_by_operators(proxy, admin, server.namesrv_address, server.broker_address)
        no_light_queue(proxy)
    return proxy.outcomes


@pytest.mark.overlap
@pytest.mark.both_servers
def test_lite_topics_and_light_queues_are_the_same(peers: Peers) -> None:
    """The transcripts of both servers are equal."""
    apache, ours = peers.transcripts.both(__name__, "lite topics", lambda kind: transcript(peers, kind))
    assert ours == apache
