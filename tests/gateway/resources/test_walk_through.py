"""The walk-through of docs/stuck-groups.md, command by command, with a whole broker in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.push import PushConsumer
from tests.house.source import ROOT
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool
from website.blocks import blocks, calls

PAGE = ROOT / "docs" / "stuck-groups.md"
PROGRAM = "mqgateway "
_VARIES = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d|\b[0-9A-F]{32}\b|10\.0\.0\.2@\d+#\d+|10\.1\.2\.3@\d+#\d+"
)
"""Times and ids are different in each run."""


def same(text: str) -> str:
    """Return the text without times and ids, which vary between runs, and without padding blanks."""
    return re.sub(r" +", " ", _VARIES.sub("*", text)).strip()


def shown() -> list[tuple[str, str]]:
    """Return the commands of the page's `console` blocks, each with the output shown there."""
    console = [block.text for block in blocks(PAGE.read_text()) if block.language == "console"]
    shown = [call for text in console for call in calls(text)]
    return [(call.command.removeprefix(PROGRAM), call.output) for call in shown]


class Shop:
    """Orders and a billing service, after a night without the service's database."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.billed: list[bytes] = []
        self._held: list[Deferred[Any]] = []
        self._service: PushConsumer | None = None
        cluster.make_topic("Orders", 2)
        self._producer = cluster.producer()

    def order(self, *names: str) -> None:
        for name in names:
            self.cluster.run(self._producer.send(Message("Orders", name)))

    def start(self, listen: Callable[[Sequence[ReceivedMessage], Context], Any]) -> None:
        """Start the service again; the one before ends without unregistering."""
        self.stop()
        chosen = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "max_reconsume_times": 0}
        given = self.cluster.settings(chosen)
        self._service = PushConsumer("billing", self.cluster.around, listen, **given)
        self.cluster.run(self._service.subscribe("Orders"))
        self.cluster.begin(self._service)
        self.cluster.settle(20.0)

    def stop(self) -> None:
        if self._service is not None:
            self.cluster.kill(self._service)

    def fails(self, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        return Consumed.LATER

    def hangs(self, messages: Sequence[ReceivedMessage], context: Context) -> Deferred[Consumed]:
        self._held.append(Deferred())
        return self._held[-1]

    def bills(self, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        self.billed += [one.body for one in messages]
        return Consumed.SUCCESS


def stuck(cluster: Cluster) -> Shop:
    """Return the state in the morning: four dead letters of the night, a hung service, four test orders."""
    shop = Shop(cluster)
    shop.start(shop.fails)
    shop.order("book 1", "book 2", "lamp 1", "lamp 2")
    cluster.settle(30.0)
    shop.start(shop.hangs)
    shop.order(*(f"test {number}" for number in range(4)))
    cluster.settle(120.0)
    return shop


def test_walk_through_has_the_real_output() -> None:
    with Cluster() as cluster:
        shop, tool = stuck(cluster), ResourceTool(cluster)
        between = {
            "offset reset billing Orders --to last --dry-run": shop.stop,
            "offset undo billing Orders --dry-run": lambda: shop.start(shop.bills),
        }
        commands = shown()
        assert len(commands) == 8
        for command, output in commands:
            between.get(command, lambda: None)()
            tool.run(command)
            assert same(tool.out + tool.err) == same(output), f"{command}:\n{tool.out}{tool.err}"
            cluster.settle(30.0)
        assert sorted(shop.billed) == [b"book 1", b"book 2", b"lamp 1", b"lamp 2"], "and no test orders"
