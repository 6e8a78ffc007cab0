"""Metrics of `rocketmq-exporter`, by its names, of this one broker, for its dashboards.

Served at `/metrics?set=exporter`. That exporter queries all brokers once a minute; here each broker exports
its own values at each scrape. All are gauges, as there. Metrics that only clients know (`rocketmq_client_*`)
and those that the exporter declares and never fills are left out. Standard:
`RMQMetricsCollector`, `MetricsCollectTask`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.meters import Labels
from mqgateway.gateway.broker.stats import (
    BROKER_GET_NUMS,
    BROKER_PUT_NUMS,
    GROUP_GET_NUMS,
    GROUP_GET_SIZE,
    SNDBCK_PUT_NUMS,
    TOPIC_PUT_NUMS,
    TOPIC_PUT_SIZE,
    Count,
)
from mqgateway.gateway.codec.codes import CURRENT_VERSION, version_name
from mqgateway.gateway.metrics.broker_reading import BrokerReading, kind_of
from mqgateway.gateway.metrics.declarations import Read, gauge
from mqgateway.gateway.metrics.metric import Metric, Sample
from mqgateway.gateway.metrics.runtime_figures import PUT_TIMES, RATES, RUNTIME, WINDOWS

TOPIC = ("cluster", "broker", "topic")
PRODUCER = ("cluster", "broker", "group")
CONSUMER = ("cluster", "broker", "topic", "group")
DIFFERENCE = ("group", "topic", "countOfOnlineConsumers", "msgModel")
MODELS = ("BROADCASTING", "CLUSTERING")
"""Models by the value of the label msgModel."""
_CLUSTERING = "1"

_RUNTIME_LABELS = ("cluster", "brokerIP", "brokerHost", "des", "boottime", "broker_version")


def _offsets(prefix: str) -> Read:
    """Read the sums of the maximum offsets of topics with a prefix; that of dead letters is removed."""
    start = len(prefix) if prefix == DLQ_PREFIX else 0

    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for part in reading.topics(prefix):
            yield [((topic[start:],), messages) for topic, messages in part]

    return values


def _differences(prefix: str) -> Read:
    """Read the lag of groups in topics with a prefix; "" for user topics."""

    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for part in reading.progress():
            samples: list[Sample] = []
            for topic, group, _, behind, _ in part:
                if kind_of(topic) == prefix:
                    samples.append(((group, topic, *_members(reading, group)), behind))
            yield samples

    return values


def _members(reading: BrokerReading, group: str) -> tuple[str, str]:
    """Return the number of connected members and the index of the model in `MODELS`."""
    members = reading.consumer_group(group)
    if members is None:
        return "0", _CLUSTERING
    model = members.message_model
    return str(len(members.clients)), str(MODELS.index(model)) if model in MODELS else _CLUSTERING


def _here(reading: BrokerReading, labels: Labels) -> Labels:
    """Prepend the labels of cluster and broker."""
    return (reading.cluster, reading.name, *labels)


def _by_topic(name: str) -> Read:
    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for topics, counts in reading.counts(name):
            yield list(zip(zip(topics), map(_tps, counts), strict=True))

    return values


def _by_group(name: str, value: Callable[[Count], float]) -> Read:
    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for keys, counts in reading.counts(name):
            split = [key.rpartition("@") for key in keys]
            labels = [(topic, group) for topic, _, group in split]
            yield list(zip(labels, map(value, counts), strict=True))

    return values


def _of_broker(name: str) -> Read:
    def values(reading: BrokerReading) -> Iterator[Sample]:
        for _, counts in reading.counts(name):
            for count in counts:
                yield (reading.cluster, reading.host, reading.name), _tps(count)

    return values


def _tps(count: Count) -> float:
    minute = count.minute
    return 0.0 if minute.stands else minute.rate().tps


def _sum(count: Count) -> float:
    return count.minute.rate().sum


def _group_counts(reading: BrokerReading) -> Iterator[Sample]:
    for group in reading.consumer_groups():
        for client in group.clients.values():
            yield (client.peer.address, client.client_id, group.name), len(group.clients)


def _committed(reading: BrokerReading) -> Iterator[list[Sample]]:
    for part in reading.progress():
        yield [((topic, group), committed) for topic, group, committed, _, _ in part]


def _latencies(reading: BrokerReading) -> Iterator[list[Sample]]:
    for lags in reading.lags():
        yield [((lag.labels[1], lag.labels[0]), lag.latency) for lag in lags if lag.labels[2] == "false"]


def _runtime(key: str, place: int = 0) -> Read:
    """Read a value of request 28: the word at `place`, or the last word if there are fewer."""

    def values(reading: BrokerReading) -> Iterator[Sample]:
        words = reading.runtime().get(key, "").split()
        if words:
            yield _runtime_labels(reading), _number(words[min(place, len(words) - 1)])

    return values


def _put_times(place: int) -> Read:
    return _runtime("putMessageDistributeTime", place)


def _number(text: str) -> float:
    """Parse a number, which may follow the name of a class and a colon."""
    text = text.rpartition(":")[2]
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else float(text)


def _runtime_labels(reading: BrokerReading) -> tuple[str, ...]:
    boot = reading.runtime().get("bootTimestamp", "")
    name = version_name(CURRENT_VERSION)
    return reading.cluster, reading.host, reading.name, name, boot, str(CURRENT_VERSION)


def _capacity(index: int) -> Read:
    def values(reading: BrokerReading) -> Iterator[Sample]:
        yield _runtime_labels(reading), reading.capacity[index]

    return values


def _unflushed(reading: BrokerReading) -> Iterator[Sample]:
    yield _runtime_labels(reading), reading.flush_behind


def _slave_gaps(reading: BrokerReading) -> Iterator[Sample]:
    for address, behind in reading.slaves():
        yield (reading.cluster, address, reading.name), behind


def _runtime_metrics() -> Iterator[Metric[BrokerReading]]:
    """Yield the metrics from request 28."""
    found: dict[str, tuple[Read, str]] = {
        suffix: (_runtime(key), meaning) for suffix, (key, meaning) in RUNTIME.items()
    }
    found |= {
        f"{what}_tps{window}": (_runtime(key, place), f"{meaning} in a second, mean of the last {window} s.")
        for what, (key, meaning) in RATES.items()
        for place, window in enumerate(WINDOWS)
    }
    found |= {
        f"pmdt_{suffix}": (_put_times(place), f"Puts that took {span}, in the last full minute.")
        for place, (suffix, span) in enumerate(PUT_TIMES.items())
    }
    found |= {
        "commitlogdir_capacity_total": (_capacity(0), "Size of the commit log's file system, in bytes."),
        "commitlogdir_capacity_free": (_capacity(1), "Free bytes of the commit log's file system."),
        "remain_howmanydata_toflush": (
            _unflushed,
            "Bytes of the commit log that are not flushed to disk yet.",
        ),
    }
    for suffix, (read, meaning) in found.items():
        yield gauge(f"rocketmq_brokeruntime_{suffix}", meaning, read, labels=_RUNTIME_LABELS)


EXPORTER_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "rocketmq_producer_offset",
        "Sum of the maximum offsets of a topic's queues: messages stored since the topic was created.",
        _offsets(""),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_topic_retry_offset",
        "Messages stored in a retry topic since it was created.",
        _offsets(RETRY_PREFIX),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_topic_dlq_offset",
        "Messages stored in a group's dead-letter queue since it was created.",
        _offsets(DLQ_PREFIX),
        labels=PRODUCER,
        shown=_here,
    ),
    gauge(
        "rocketmq_producer_count",
        "Connected producers of a group.",
        lambda reading: [((group,), count) for group, count in reading.producer_groups()],
        labels=PRODUCER,
        shown=_here,
    ),
    gauge(
        "rocketmq_group_diff",
        "Messages of a topic that a group has not consumed.",
        _differences(""),
        labels=DIFFERENCE,
    ),
    gauge(
        "rocketmq_group_retrydiff",
        "Messages of its retry topic that a group has not consumed.",
        _differences(RETRY_PREFIX),
        labels=DIFFERENCE,
    ),
    gauge(
        "rocketmq_group_dlqdiff",
        "Messages of its dead-letter queue that a group has not consumed.",
        _differences(DLQ_PREFIX),
        labels=DIFFERENCE,
    ),
    gauge(
        "rocketmq_group_count",
        "Connected members of a consumer group, for each member.",
        _group_counts,
        labels=("caddr", "localaddr", "group"),
    ),
    gauge(
        "rocketmq_consumer_offset",
        "Sum of the committed offsets of a group in a topic.",
        _committed,
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_group_get_latency_by_storetime",
        "Age of the oldest message that a group has not consumed, in milliseconds. 0: no such message.",
        _latencies,
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_producer_tps",
        "Messages stored in a topic in a second, mean of the last minute.",
        _by_topic(TOPIC_PUT_NUMS),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_producer_message_size",
        "Bytes stored in a topic in a second, mean of the last minute.",
        _by_topic(TOPIC_PUT_SIZE),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_consumer_tps",
        "Messages delivered to a group in a second, mean of the last minute.",
        _by_group(GROUP_GET_NUMS, _tps),
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_consumer_message_size",
        "Bytes delivered to a group in a second, mean of the last minute.",
        _by_group(GROUP_GET_SIZE, _tps),
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_send_back_nums",
        "Messages that a group sent back for a retry in the last minute.",
        _by_group(SNDBCK_PUT_NUMS, _sum),
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_broker_tps",
        "Messages stored in a second, of all topics, mean of the last minute.",
        _of_broker(BROKER_PUT_NUMS),
        labels=("cluster", "brokerIP", "broker"),
    ),
    gauge(
        "rocketmq_broker_qps",
        "Messages delivered in a second, of all topics, mean of the last minute.",
        _of_broker(BROKER_GET_NUMS),
        labels=("cluster", "brokerIP", "broker"),
    ),
    gauge(
        "rocketmq_broker_commitlog_diff",
        "Replication lag of a slave, in bytes of the commit log.",
        _slave_gaps,
        labels=("cluster", "brokerIP", "broker"),
    ),
    *_runtime_metrics(),
)
