"""Metrics of both brokers after the same load: ours exports each family and label of Apache's.

Counts are equal.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from urllib.request import urlopen

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families as families_of

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import PopClient, message
from compat_tests.support.peers import KINDS, Peer, Peers
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import BROKER_NAME, HOST, Server

PLAIN, LATER, DECIDED, POPPED = "MetricPlain", "MetricLater", "MetricDecided", "MetricPopped"
PUSHED, POLLED, POPPING = "MetricPush", "MetricPolled", "MetricPopping"
SETTLED_SECONDS = 45
"""Time for popped messages without acknowledgement to return, and for offsets to be committed."""

COUNTS = (
    "rocketmq_messages_in_total",
    "rocketmq_throughput_in_total",
    "rocketmq_message_size_count",
    "rocketmq_message_size_sum",
    "rocketmq_messages_out_total",
    "rocketmq_throughput_out_total",
    "rocketmq_commit_messages_total",
    "rocketmq_rollback_messages_total",
    "rocketmq_finish_message_latency_milliseconds_count",
    "rocketmq_half_messages",
    "rocketmq_send_to_dlq_messages_total",
    "rocketmq_consumer_lag_messages",
    "rocketmq_consumer_inflight_messages",
    "rocketmq_consumer_ready_messages",
    "rocketmq_consumer_connections",
    "rocketmq_timer_enqueue_total",
    "rocketmq_timer_dequeue_total",
    "rocketmq_timing_messages",
    "rocketmq_delay_message_latency_seconds_count",
    "rocketmq_pop_revive_in_message_total",
    "rocketmq_pop_revive_retry_messages_total",
    "rocketmq_broker_permission",
    "rocketmq_topic_create_execution_time_milliseconds_count",
    "rocketmq_rpc_latency_milliseconds_count",
)
"""Metrics that must be equal for the topics and groups of this load and for the requests below."""
REQUESTS = (
    "send_message_v2",
    "send_batch_message",
    "end_transaction",
    "pop_message",
    "ack_message",
    "consumer_send_msg_back",
    "update_and_create_topic",
)
"""Requests whose number depends on the load only."""


class Exporting:
    """A server of a kind that exports metrics."""

    def __init__(self, kind: str, peers: Peers, open: ExitStack) -> None:
        port = free_ports()
        settings = {
            "metricsExporterType": "PROM",
            "metricsPromExporterPort": str(port),
            "metricsPromExporterHost": HOST,
            "transactionOpMsgMaxSize": "1",
        }
        self.server: Server = open.enter_context(peers.fresh(kind, settings))
        self.peer = peers.with_server(self.server, CURRENT)
        self.page = f"http://{HOST}:{port}/metrics"

    def scrape(self) -> dict[str, Metric]:
        """Return the families by name."""
        with urlopen(self.page, timeout=10) as answer:
            return {family.name: family for family in families_of(answer.read().decode())}


def put_load_on(server: Server, peer: Peer, open: ExitStack) -> None:
    """Put load on everything that is counted; the clients stay connected until `open` is closed."""
    producer = open.enter_context(peer.producer("MetricProducers"))
    for topic in (PLAIN, LATER, DECIDED, POPPED):
        producer.create_topic(topic, 1)
    time.sleep(1)
    producer.send([message(PLAIN, f"body {number:03}", tags="T", keys="k") for number in range(20)])
    producer.send([message(PLAIN, f"part {number:03}") for number in range(10)], "batch")
    push = open.enter_context(peer.push(PUSHED, {PLAIN: "*"}))
    push.collect(30)
    polled = open.enter_context(peer.lite(POLLED, subscriptions={PLAIN: "*"}, autoCommit=False))
    polled.poll(30)  # a group starts at the beginning of a topic that is still in memory
    polled.commit()
    producer.send([message(PLAIN, f"more {number:03}") for number in range(7)])
    polled.poll(7)
    producer.send([message(LATER, f"level {number}", delayLevel=1) for number in range(2)])
    soon = {"timer": "TIMER_DELAY_MS", "time": 1500}
    producer.send([message(LATER, f"soon {number}", **soon) for number in range(2)])
    producer.send([message(LATER, "in an hour", timer="TIMER_DELAY_MS", time=3_600_000)])
    transactions = open.enter_context(peer.transactions(DECIDED, "MetricDeciders"))
    transactions.send([message(DECIDED, f"yes {number}") for number in range(2)], "COMMIT_MESSAGE")
    transactions.send([message(DECIDED, "no")], "ROLLBACK_MESSAGE")
    producer.send([message(POPPED, f"popped {number}") for number in range(5)])
    time.sleep(0.5)
    pops = open.enter_context(PopClient(peer.driver, BROKER_NAME, server.broker_address, POPPING))
    found = pops.pop(POPPED, invisible=3000, poll=2000).messages
    assert len(found) == 5, found
    for one in found[:3]:
        pops.ack(one)
    pops.send_back(push.collect(37)[0], -1, 16)


def counts(families: dict[str, Metric]) -> dict[tuple[str, ...], float]:
    """Return the counts of the load, by name and labels."""
    found = {}
    for sample in (sample for family in families.values() for sample in family.samples):
        labels = {label: value for label, value in sample.labels.items() if label != "version"}
        about = labels.get("topic", ""), labels.get("consumer_group", "")
        is_ours = about == ("", "") or any("Metric" in one for one in about)
        if sample.name in COUNTS and is_ours and labels.get("request_code", REQUESTS[0]) in REQUESTS:
            found[sample.name, *(f"{label}={value}" for label, value in sorted(labels.items()))] = (
                sample.value
            )
    return found


def label_names(family: Metric) -> set[frozenset[str]]:
    return {frozenset(sample.labels) for sample in family.samples}


@pytest.mark.long
@pytest.mark.both_servers
def test_metrics_of_apache_are_exported(peers: Peers) -> None:
    with ExitStack() as open:
        servers = {kind: Exporting(kind, peers, open) for kind in KINDS}
        for one in servers.values():
            put_load_on(one.server, one.peer, open)
        deadline = time.monotonic() + SETTLED_SECONDS
        while True:
            apaches, ours = (servers[kind].scrape() for kind in KINDS)
            theirs, own = counts(apaches), counts(ours)
            apart = {key: (theirs.get(key), own.get(key)) for key in theirs.keys() | own.keys()}
            apart = {key: values for key, values in apart.items() if values[0] != values[1]}
            if not apart or time.monotonic() > deadline:
                break
            time.sleep(1)
    assert not apart, "Apache's value and ours"
    assert {key[0] for key in theirs} == set(COUNTS), "a count that nothing of the load is in"
    for name, family in apaches.items():
        assert ours[name].type == family.type, name
        assert label_names(family) <= label_names(ours[name]), name
