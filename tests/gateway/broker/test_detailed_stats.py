"""Counts that are kept while a client queries them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.broker.detailed_stats import KEPT_SECONDS, DetailedStats
from mqgateway.gateway.broker.stats import DETAILED
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader, ViewBrokerStatsDataRequestHeader
from tests.support.gateway.broker.pop import PopBroker
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.members import connect

CODE = RequestCode.VIEW_BROKER_STATS_DATA


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        yield cluster


def _ask(cluster: Cluster, name: str, key: str) -> Any:
    """The count of the last minute, None where there is none."""
    header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
    answer = cluster.meet(10911).ask(CODE, header)
    if answer.code != ResponseCode.SUCCESS:
        assert answer.remark == f"The stats <{name}> <{key}> not exist"
        return None
    return loads(answer.body)["statsMinute"]["sum"]


def _send(cluster: Cluster, *bodies: str) -> None:
    for body in bodies:
        cluster.run(cluster.producer().send(Message("T", body)))


def _pull(cluster: Cluster) -> None:
    header = PullMessageRequestHeader(
        consumer_group="TOOLS_CONSUMER",
        topic="T",
        queue_id=0,
        queue_offset=0,
        max_msg_nums=32,
        sys_flag=4,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription="*",
        sub_version=0,
    )
    assert cluster.meet(10911).ask(RequestCode.PULL_MESSAGE, header).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    ("name", "key", "counted"),
    [
        ("QUEUE_PUT_NUMS", "T@0", 3),
        ("QUEUE_PUT_SIZE", "T@0", 9),
        ("TOPIC_PUT_LATENCY", "0@T", 0),
        ("QUEUE_GET_NUMS", "T@0@TOOLS_CONSUMER", 3),
        ("GROUP_GET_LATENCY", "0@T@TOOLS_CONSUMER", 0),
    ],
)
def test_requested_count_is_kept_from_then_on(cluster: Cluster, name: str, key: str, counted: int) -> None:
    _send(cluster, "before")
    assert _ask(cluster, name, key) is None
    _send(cluster, "one", "two")
    _send(cluster, "six")
    if "GET" in name:
        _pull(cluster)
        counted += name == "QUEUE_GET_NUMS"  # what was there before is read too
    cluster.settle(11.0)
    assert _ask(cluster, name, key) == counted


def test_requests_are_watched_only_while_statistics_are_queried(cluster: Cluster) -> None:
    dispatcher, stats = cluster.service.dispatcher, cluster.service.broker.stats
    before = dispatcher.hooks
    _ask(cluster, "TOPIC_PUT_NUMS", "T")
    assert dispatcher.hooks == before
    _ask(cluster, "QUEUE_PUT_NUMS", "T@0")
    assert len(dispatcher.hooks) == len(cluster.service.fast_dispatcher.hooks) == len(before) + 1
    cluster.settle(KEPT_SECONDS - 1)
    _send(cluster, "one")
    assert _ask(cluster, "QUEUE_PUT_NUMS", "T@0") is not None
    cluster.settle(KEPT_SECONDS - 1)
    assert len(dispatcher.hooks) == len(before) + 1, "counted from the last question on"
    cluster.settle(3.0)
    assert dispatcher.hooks == before
    assert not any(stats.table(name) for name in DETAILED)


def test_pops_and_acknowledgements_are_counted() -> None:
    broker = PopBroker()
    stats = broker.broker.stats
    DetailedStats(stats, broker.clock, [broker.dispatcher], "DefaultCluster", lambda *_: None)
    for number in range(4):
        broker.send("T", b"%d" % number, queue_id=0)
    assert stats.item("GROUP_ACK_NUMS", "T@G") is None
    one, two, three, four = broker.pop(queue_id=0)
    broker.ack(one)
    broker.batch_ack(two, three)
    broker.change(four, 60_000)
    broker.send("T", b"in order", queue_id=1)
    (ordered,) = broker.pop(queue_id=1, order=True)
    broker.ack(ordered)
    counted = {(name, key): count.value for name in DETAILED for key, count in stats.table(name).items()}
    assert {place: value for place, value in counted.items() if "NUMS" in place[0] and "K" in place[0]} == {
        ("GROUP_CK_NUMS", "T@G"): 2,
        ("GROUP_ACK_NUMS", "T@G"): 4,
        ("BROKER_CK_NUMS", "DefaultCluster"): 2,
        ("BROKER_ACK_NUMS", "DefaultCluster"): 4,
    }
    assert {key for name, key in counted if name == "GROUP_GET_LATENCY"} == {"0@T@G", "1@T@G"}


def test_counts_are_removed_with_their_topic_and_group(cluster: Cluster) -> None:
    _ask(cluster, "QUEUE_PUT_NUMS", "T@0")
    _send(cluster, "one")
    connect(cluster, "G", "T")
    stats = cluster.service.broker.stats
    assert "T@0@G" in stats.table("QUEUE_GET_NUMS")
    stats.group_deleted("G")
    assert "T@0@G" not in stats.table("QUEUE_GET_NUMS")
    assert "T@0" in stats.table("QUEUE_PUT_NUMS")
    stats.topic_deleted("T")
    assert "T@0" not in stats.table("QUEUE_PUT_NUMS")
