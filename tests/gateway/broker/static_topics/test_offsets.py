"""Ends, times and consumer offsets of queues that lie on several brokers."""

from typing import Any

import pytest

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import BoundaryType
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.broker.helpers import Answer

MIN, MAX = RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET


def moved(*, begin: bool = True, end: bool = False) -> Cluster:
    """A queue with two messages on a, none on c, one on b; a second passes before each."""
    brokers = Cluster("a", "b", "c")
    brokers.create("a", "c")
    for body in (b"1", b"2"):
        brokers.clock.advance(1000)
        brokers.fill("a", body)
    brokers.move(0, "c", end=end)
    brokers.move(0, "b", begin=begin, end=end)
    brokers.clock.advance(1000)
    brokers.fill("b", b"3")
    return brokers


def ends(brokers: Cluster, name: str, queue_id: int = 0) -> list[int]:
    answers = [
        brokers[name].ask(MIN, GetMinOffsetRequestHeader(topic=TOPIC, queue_id=queue_id)),
        brokers[name].ask(MAX, GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=queue_id)),
    ]
    return [int(answer.ext["offset"]) for answer in answers]


def search(brokers: Cluster, millis: int, boundary: BoundaryType) -> int:
    header = SearchOffsetRequestHeader(topic=TOPIC, queue_id=0, timestamp=millis, boundary_type=boundary)
    return int(brokers["b"].ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header).ext["offset"])


def commit(brokers: Cluster, offset: int, group: str = "G") -> Answer:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic=TOPIC, queue_id=0, commit_offset=offset
    )
    return brokers["b"].ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)


def committed(brokers: Cluster, name: str = "b", **fields: Any) -> Answer:
    usual = {"consumer_group": "G", "topic": TOPIC, "queue_id": 0}
    header = QueryConsumerOffsetRequestHeader(**usual | fields)
    return brokers[name].ask(RequestCode.QUERY_CONSUMER_OFFSET, header)


def known_group(brokers: Cluster) -> Cluster:
    for member in brokers.brokers.values():
        member.broker.tables.groups.find("G")
    return brokers


def test_ends_are_those_of_the_first_and_last_item() -> None:
    brokers = moved()
    assert ends(brokers, "b") == [0, 2 * BLOCK + 1]
    assert ends(brokers, "c", 1) == [0, 0]


def test_end_is_that_of_the_last_item_with_a_start() -> None:
    assert ends(moved(begin=False), "b") == [0, BLOCK]


def test_earliest_message_is_in_the_first_item() -> None:
    brokers = moved()
    header = GetEarliestMsgStoretimeRequestHeader(topic=TOPIC, queue_id=0)
    answer = brokers["b"].ask(RequestCode.GET_EARLIEST_MSG_STORETIME, header)
    assert int(answer.ext["timestamp"]) == brokers.clock.millis() - 2000


@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize(
    ("ago", "lower", "upper"),
    [
        (9000, 0, 0),
        (2000, 0, 0),
        (1000, 1, 1),
        (500, 2 * BLOCK, 1),
        (0, 2 * BLOCK, 1),
        (-500, 2 * BLOCK + 1, 1),
    ],
)
def test_time_is_found_in_any_item(ago: int, lower: int, upper: int, end: bool) -> None:
    """With `UPPER`, a mapping item with one message looks like an empty one."""
    brokers = moved(end=end)
    millis = brokers.clock.millis() - ago
    assert search(brokers, millis, BoundaryType.LOWER) == lower
    assert search(brokers, millis, BoundaryType.UPPER) == upper


def test_upper_search_finds_a_late_message_of_the_last_item() -> None:
    brokers = moved()
    brokers.clock.advance(1000)
    brokers.fill("b", b"4")
    assert search(brokers, brokers.clock.millis(), BoundaryType.UPPER) == 2 * BLOCK + 1


def test_offset_is_committed_in_its_item() -> None:
    brokers = known_group(moved())
    assert committed(brokers).code == 22
    for offset in (2, 2 * BLOCK + 1):
        assert commit(brokers, offset).code == 0
        assert committed(brokers).ext["offset"] == str(offset)
    assert brokers["a"].broker.tables.offsets.queues_of("G", TOPIC) == {0: 2}
    assert brokers["b"].broker.tables.offsets.queues_of("G", TOPIC) == {0: 1}


def test_uncommitted_offset_is_not_found() -> None:
    answer = committed(moved())
    assert (answer.code, answer.remark) == (22, "Not found, maybe this group consumer boot first")


def test_a_refused_commit_of_another_broker_is_passed_on() -> None:
    answer = commit(moved(), 1, "x" * 300)
    assert answer.code == 26


def test_unmoved_queue_is_served_like_a_brokers_queue() -> None:
    brokers = known_group(moved())
    member = brokers["c"].broker
    member.tables.offsets.commit("G", TOPIC, 0, 7)
    assert committed(brokers, "c", queue_id=1).ext["offset"] == "7"
    assert committed(brokers, "c", queue_id=1, consumer_group="new").code in (0, 22)


def test_request_for_a_queue_led_by_another_broker_is_refused() -> None:
    brokers = moved()
    answers = [
        brokers["a"].ask(MIN, GetMinOffsetRequestHeader(topic=TOPIC, queue_id=0)),
        brokers["a"].ask(MAX, GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=0)),
        committed(brokers, "a"),
    ]
    assert [answer.code for answer in answers] == [501] * 3
    assert answers[0].remark == "static-0 is not leader in broker a, request code 31"
    assert answers[1].remark == "static-0 does not exit in request process of current broker a"


def test_lo_false_selects_the_brokers_own_queue() -> None:
    brokers = moved()
    header = GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=0, lo=False)
    assert brokers["a"].ask(MAX, header).ext["offset"] == "2"


@pytest.mark.parametrize("name", ["a", "c"])
def test_unreachable_broker_is_an_error(name: str) -> None:
    brokers = moved()
    brokers.down.add(name)
    answer = committed(brokers)
    assert (answer.code, answer.remark) == (1, f"broker {name} does not answer: refused")
