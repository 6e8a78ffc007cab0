"""The pages of pops and lite topics."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import orjson

from browser_tests.conftest import Server, Visitor, fill
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import format_properties
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.codec.bodies.lite import LiteSubscription, LiteSubscriptionCtlRequestBody
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import PopMessageRequestHeader, SendMessageRequestHeaderV2
from mqgateway.gateway.mqadmin.connection import ServerConnection, plain


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
    """Three messages of Orders are out, those of queue 0; of two lite topics of Chat one is."""
    pop = PopMessageRequestHeader(
        consumer_group="Billing",
        topic="Orders",
        queue_id=0,
        max_msg_nums=3,
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
