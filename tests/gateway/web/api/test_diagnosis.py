"""Why a group is stuck, as the console tells it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer, NotAnswered
from mqgateway.gateway.broker.operations import CoordinatedGroup
from mqgateway.gateway.codec.bodies import (
    ConsumerRunningInfo,
    MessageQueue,
    ProcessQueueInfo,
    SubscriptionData,
)
from tests.support.gateway.broker.helpers import CONSUMER
from tests.support.gateway.console import ConsoleBrowser, console
from tests.support.gateway.coordinated import OneGroup, kafka_group


@pytest.fixture
def browser() -> ConsoleBrowser:
    """A group that is two messages behind in one queue."""
    made = console()
    made.world.memory.add_topic("T", queues=1)
    for _ in range(3):
        made.world.put("T")
    made.world.broker.tables.groups.put(SubscriptionGroupConfig("G"))
    made.world.broker.tables.offsets.commit("G", "T", 0, 1)
    return made


def found(browser: ConsoleBrowser) -> dict[str, str]:
    return {one["check"]: one["weight"] for one in browser.get("/groups/G/diagnosis")["findings"]}


class Outgoing:
    """The way to a member that answers so."""

    def __init__(self, answer: Callable[[], Deferred[ClientAnswer]]) -> None:
        self.answer = answer

    def running_info(self, *_: object) -> Deferred[ClientAnswer]:
        return self.answer()


def says(browser: ConsoleBrowser, answer: Callable[[], Deferred[ClientAnswer]], wants: str = "*") -> None:
    """The group has a member, which answers so."""
    browser.world.memory.subscribe("G", "T", wants)
    client = browser.world.broker.clients.consumer("G", CONSUMER)
    assert client is not None
    client.outgoing = Outgoing(answer)  # type: ignore[assignment]


def no_answer() -> Deferred[ClientAnswer]:
    return fail(NotAnswered("it does not answer", is_late=True))


def test_group_without_members_is_diagnosed(browser: ConsoleBrowser) -> None:
    answer = browser.get("/groups/G/diagnosis")
    assert (answer["members"], answer["behind"]) == (0, 2)
    (one,) = answer["findings"]
    assert one["what"] == "no member of the group G is connected, and 2 messages wait"
    assert one["cure"].startswith("start a consumer")
    assert browser.refused("GET", "/groups/none/diagnosis")[0] == 404


def test_state_of_members_is_diagnosed(browser: ConsoleBrowser) -> None:
    running = ConsumerRunningInfo(subscription_set=[SubscriptionData(topic="T", sub_string="*")])
    long_ago = browser.world.memory.clock.millis() - 120_000
    held = ProcessQueueInfo(cached_msg_count=2, last_pull_timestamp=long_ago, last_consume_timestamp=long_ago)
    name = browser.world.broker.options.broker_name
    running.mq_table = {MessageQueue("T", name, 0): held}
    says(browser, lambda: succeed(ClientAnswer(0, running.encode(), None, {})))
    assert found(browser) == {"listener-hangs": "cause"}


@pytest.mark.parametrize(
    "answer",
    [
        no_answer,
        lambda: succeed(ClientAnswer(1, b"", "no", {})),
        lambda: succeed(ClientAnswer(0, b"no json", None, {})),
    ],
)
def test_a_member_that_says_nothing_is_a_member(
    browser: ConsoleBrowser, answer: Callable[[], Deferred[ClientAnswer]]
) -> None:
    says(browser, answer)
    assert found(browser) == {}
    browser.world.broker.tables.groups.put(SubscriptionGroupConfig("G", consume_enable=False))
    assert found(browser) == {"group-disabled": "cause"}


def test_a_filter_that_lets_nothing_through(browser: ConsoleBrowser) -> None:
    says(browser, no_answer, "never")
    assert "filter-matches-nothing" in found(browser)


def coordinate(browser: ConsoleBrowser, group: CoordinatedGroup) -> None:
    browser.world.console.operations.coordinated.attach(OneGroup("G", group))


def test_members_of_a_kafka_group_are_members(browser: ConsoleBrowser) -> None:
    coordinate(browser, kafka_group())
    assert browser.get("/groups/G/diagnosis")["members"] == 1
    assert found(browser) == {}
    coordinate(browser, kafka_group(assigned=((("T", 0),), ())))
    assert found(browser) == {"idle-members": "warning"}


def test_partition_that_no_kafka_member_has_is_diagnosed(browser: ConsoleBrowser) -> None:
    coordinate(browser, kafka_group(assigned=((("T", 1),),)))
    assert found(browser) == {"queue-without-owner": "cause"}


def test_rebalance_of_a_kafka_group_is_diagnosed(browser: ConsoleBrowser) -> None:
    coordinate(browser, kafka_group(state="PreparingRebalance"))
    assert found(browser) == {"rebalancing": "cause"}


def test_kafka_group_without_progress_is_diagnosed(browser: ConsoleBrowser) -> None:
    coordinate(browser, kafka_group())
    for time in (0, 60_000):
        browser.world.console.lags.note("G", time, 2, 1)
    assert found(browser) == {"no-progress": "cause"}


def test_lag_of_a_share_group_is_that_of_its_partitions(browser: ConsoleBrowser) -> None:
    browser.world.broker.tables.offsets.remove("G", "T")
    coordinate(browser, kafka_group("share", shared=1))
    answer = browser.get("/groups/G/diagnosis")
    assert (answer["behind"], answer["members"], answer["findings"]) == (1, 1, [])
