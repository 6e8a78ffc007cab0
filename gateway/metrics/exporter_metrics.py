"""The metrics of `rocketmq-exporter`, by its names, of this one broker: what its dashboards ask for.

Served at `/metrics?set=exporter`. That exporter asks all brokers once a minute; here each broker answers for
itself, when it is asked, so no value is older than its scrape. All are gauges, as there. What only clients
know, `rocketmq_client_*`, is left out, and so is what the exporter declares and never fills. Standard:
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
from mqgateway.gateway.metrics.broker_metrics import Read, gauge
from mqgateway.gateway.metrics.broker_reading import BrokerReading, kind_of
from mqgateway.gateway.metrics.metric import Metric, Sample

TOPIC = ("cluster", "broker", "topic")
PRODUCER = ("cluster", "broker", "group")
CONSUMER = ("cluster", "broker", "topic", "group")
DIFFERENCE = ("group", "topic", "countOfOnlineConsumers", "msgModel")
MODELS = ("BROADCASTING", "CLUSTERING")
"""The label msgModel is the place of the model in here."""
_CLUSTERING = "1"

# The suffix of rocketmq_brokeruntime_*, and the key of request 28 that it shows.
RUNTIME = {
    "msg_put_total_today_now": "msgPutTotalTodayNow",
    "msg_gettotal_today_now": "msgGetTotalTodayNow",
    "msg_gettotal_yesterdaymorning": "msgGetTotalYesterdayMorning",
    "msg_puttotal_yesterdaymorning": "msgPutTotalYesterdayMorning",
    "msg_gettotal_todaymorning": "msgGetTotalTodayMorning",
    "msg_puttotal_todaymorning": "msgPutTotalTodayMorning",
    "dispatch_behind_bytes": "dispatchBehindBytes",
    "dispatch_maxbuffer": "dispatchMaxBuffer",
    "put_message_size_total": "putMessageSizeTotal",
    "put_message_average_size": "putMessageAverageSize",
    "putmessage_times_total": "putMessageTimesTotal",
    "putmessage_entire_time_max": "putMessageEntireTimeMax",
    "getmessage_entire_time_max": "getMessageEntireTimeMax",
    "put_latency_99": "putLatency99",
    "put_latency_999": "putLatency999",
    "query_threadpool_queue_capacity": "queryThreadPoolQueueCapacity",
    "send_threadpoolqueue_capacity": "sendThreadPoolQueueCapacity",
    "pull_threadpoolqueue_capacity": "pullThreadPoolQueueCapacity",
    "send_threadpool_queue_size": "sendThreadPoolQueueSize",
    "pull_threadpoolqueue_size": "pullThreadPoolQueueSize",
    "query_threadpoolqueue_size": "queryThreadPoolQueueSize",
    "send_threadpoolqueue_headwait_timemills": "sendThreadPoolQueueHeadWaitTimeMills",
    "pull_threadpoolqueue_headwait_timemills": "pullThreadPoolQueueHeadWaitTimeMills",
    "query_threadpoolqueue_headwait_timemills": "queryThreadPoolQueueHeadWaitTimeMills",
    "remain_transientstore_buffer_numbs": "remainTransientStoreBufferNumbs",
    "earliest_message_timestamp": "earliestMessageTimeStamp",
    "start_accept_sendrequest_time": "startAcceptSendRequestTimeStamp",
    "pagecache_lock_time_mills": "pageCacheLockTimeMills",
    "commitlog_disk_ratio": "commitLogDiskRatio",
    "consumequeue_disk_ratio": "consumeQueueDiskRatio",
    "commitlog_maxoffset": "commitLogMaxOffset",
    "commitlog_minoffset": "commitLogMinOffset",
}
RATES = {
    "getfound": "getFoundTps",
    "gettotal": "getTotalTps",
    "gettransfered": "getTransferredTps",
    "getmiss": "getMissTps",
    "put": "putTps",
}
WINDOWS = (10, 60, 600)
# Suffixes of rocketmq_brokeruntime_pmdt_*: how long puts took, in the order of putMessageDistributeTime.
PUT_TIMES = (
    *("0ms", "0to10ms", "10to50ms", "50to100ms", "100to200ms", "200to500ms", "500to1s"),
    *("1to2s", "2to3s", "3to4s", "4to5s", "5to10s", "10stomore"),
)
_RUNTIME_LABELS = ("cluster", "brokerIP", "brokerHost", "des", "boottime", "broker_version")


def _offsets(prefix: str) -> Read:
    """The sums of the ends of topics with a prefix, which goes where it is that of dead letters."""
    start = len(prefix) if prefix == DLQ_PREFIX else 0

    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for part in reading.topics(prefix):
            yield [((topic[start:],), messages) for topic, messages in part]

    return values


def _differences(prefix: str) -> Read:
    """How far groups are behind in the topics with a prefix; "" for those of users."""

    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for part in reading.progress():
            samples: list[Sample] = []
            for topic, group, _, behind, _ in part:
                if kind_of(topic) == prefix:
                    samples.append(((group, topic, *_members(reading, group)), behind))
            yield samples

    return values


def _members(reading: BrokerReading, group: str) -> tuple[str, str]:
    """How many of a group are connected, and the place of its model in `MODELS`."""
    members = reading.consumer_group(group)
    if members is None:
        return "0", _CLUSTERING
    model = members.message_model
    return str(len(members.clients)), str(MODELS.index(model)) if model in MODELS else _CLUSTERING


def _here(reading: BrokerReading, labels: Labels) -> Labels:
    """Where the rest is."""
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
    """A figure of request 28; the one at a place where there are several, or the last if there are fewer."""

    def values(reading: BrokerReading) -> Iterator[Sample]:
        words = reading.runtime().get(key, "").split()
        if words:
            yield _runtime_labels(reading), _number(words[min(place, len(words) - 1)])

    return values


def _put_times(place: int) -> Read:
    return _runtime("putMessageDistributeTime", place)


def _number(text: str) -> float:
    """A number, which may follow the name of a class and a colon."""
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
    """Those of request 28."""
    reads: dict[str, Read] = {suffix: _runtime(key) for suffix, key in RUNTIME.items()}
    reads |= {
        f"{what}_tps{window}": _runtime(key, place)
        for what, key in RATES.items()
        for place, window in enumerate(WINDOWS)
    }
    reads |= {f"pmdt_{span}": _put_times(place) for place, span in enumerate(PUT_TIMES)}
    reads |= {
        "commitlogdir_capacity_total": _capacity(0),
        "commitlogdir_capacity_free": _capacity(1),
        "remain_howmanydata_toflush": _unflushed,
    }
    for suffix, read in reads.items():
        yield gauge(
            f"rocketmq_brokeruntime_{suffix}",
            "A figure of the broker, as mqadmin brokerStatus shows it.",
            read,
            labels=_RUNTIME_LABELS,
        )


EXPORTER_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "rocketmq_producer_offset",
        "Messages ever put into a topic.",
        _offsets(""),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_topic_retry_offset",
        "Messages ever put into a topic of retries.",
        _offsets(RETRY_PREFIX),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_topic_dlq_offset",
        "Messages that ever became dead letters of a group.",
        _offsets(DLQ_PREFIX),
        labels=PRODUCER,
        shown=_here,
    ),
    gauge(
        "rocketmq_producer_count",
        "Producers of a group.",
        lambda reading: [((group,), count) for group, count in reading.producer_groups()],
        labels=PRODUCER,
        shown=_here,
    ),
    gauge(
        "rocketmq_group_diff",
        "Messages that a group has not consumed.",
        _differences(""),
        labels=DIFFERENCE,
    ),
    gauge(
        "rocketmq_group_retrydiff",
        "Retries that a group has not consumed.",
        _differences(RETRY_PREFIX),
        labels=DIFFERENCE,
    ),
    gauge(
        "rocketmq_group_dlqdiff",
        "Dead letters that a group has not consumed.",
        _differences(DLQ_PREFIX),
        labels=DIFFERENCE,
    ),
    gauge(
        "rocketmq_group_count",
        "Members of the group of a client.",
        _group_counts,
        labels=("caddr", "localaddr", "group"),
    ),
    gauge(
        "rocketmq_consumer_offset", "Messages a group committed.", _committed, labels=CONSUMER, shown=_here
    ),
    gauge(
        "rocketmq_group_get_latency_by_storetime",
        "Age in ms of the oldest message that a group has not consumed; 0 for none.",
        _latencies,
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_producer_tps", "Messages in a second.", _by_topic(TOPIC_PUT_NUMS), labels=TOPIC, shown=_here
    ),
    gauge(
        "rocketmq_producer_message_size",
        "Bytes put in a second.",
        _by_topic(TOPIC_PUT_SIZE),
        labels=TOPIC,
        shown=_here,
    ),
    gauge(
        "rocketmq_consumer_tps",
        "Messages given in a second.",
        _by_group(GROUP_GET_NUMS, _tps),
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_consumer_message_size",
        "Bytes given in a second.",
        _by_group(GROUP_GET_SIZE, _tps),
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_send_back_nums",
        "Messages sent back within a minute.",
        _by_group(SNDBCK_PUT_NUMS, _sum),
        labels=CONSUMER,
        shown=_here,
    ),
    gauge(
        "rocketmq_broker_tps",
        "Messages in a second, of all topics.",
        _of_broker(BROKER_PUT_NUMS),
        labels=("cluster", "brokerIP", "broker"),
    ),
    gauge(
        "rocketmq_broker_qps",
        "Messages given in a second, of all topics.",
        _of_broker(BROKER_GET_NUMS),
        labels=("cluster", "brokerIP", "broker"),
    ),
    gauge(
        "rocketmq_broker_commitlog_diff",
        "Bytes of the log that a slave lacks.",
        _slave_gaps,
        labels=("cluster", "brokerIP", "broker"),
    ),
    *_runtime_metrics(),
)
