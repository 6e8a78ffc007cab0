"""The names of `rocketmq-exporter`, with its labels."""

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.metrics.exporter_metrics import EXPORTER_METRICS
from mqgateway.gateway.metrics.observed import EXPORTER
from tests.support.gateway.metrics import ExportingBroker, types

TOPIC, GROUP, PAIR = "broker cluster topic", "broker cluster group", "broker cluster group topic"
DIFFERENCE = "countOfOnlineConsumers group msgModel topic"
BROKER = "broker brokerIP cluster"
NAMES = {
    "rocketmq_producer_offset": TOPIC,
    "rocketmq_topic_retry_offset": TOPIC,
    "rocketmq_topic_dlq_offset": GROUP,
    "rocketmq_producer_count": GROUP,
    "rocketmq_group_diff": DIFFERENCE,
    "rocketmq_group_retrydiff": DIFFERENCE,
    "rocketmq_group_dlqdiff": DIFFERENCE,
    "rocketmq_group_count": "caddr group localaddr",
    "rocketmq_consumer_offset": PAIR,
    "rocketmq_group_get_latency_by_storetime": PAIR,
    "rocketmq_producer_tps": TOPIC,
    "rocketmq_producer_message_size": TOPIC,
    "rocketmq_consumer_tps": PAIR,
    "rocketmq_consumer_message_size": PAIR,
    "rocketmq_send_back_nums": PAIR,
    "rocketmq_broker_tps": BROKER,
    "rocketmq_broker_qps": BROKER,
    "rocketmq_broker_commitlog_diff": BROKER,
}
RUNTIME = 63
PREFIX = "rocketmq_brokeruntime_"


def test_names_and_labels() -> None:
    ours = {metric.name: " ".join(sorted(metric.labels)) for metric in EXPORTER_METRICS}
    runtime = {name: labels for name, labels in ours.items() if name.startswith(PREFIX)}
    assert {name: labels for name, labels in ours.items() if name not in runtime} == NAMES
    assert set(runtime.values()) == {"boottime brokerHost brokerIP broker_version cluster des"}
    assert len(runtime) == RUNTIME
    assert {f"{PREFIX}pmdt_10stomore", f"{PREFIX}put_tps600", f"{PREFIX}commitlog_maxoffset"} <= set(runtime)


def test_every_figure_of_the_broker_has_a_value() -> None:
    found = types(ExportingBroker().scrape(EXPORTER))
    runtime = {metric.name for metric in EXPORTER_METRICS if metric.name.startswith(PREFIX)}
    assert {name: kind for name, kind in found.items() if name in runtime} == dict.fromkeys(runtime, "gauge")


def test_values_are_what_was_done() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.add_topic("%DLQ%G", queues=1)
    host.add_topic("%RETRY%G", queues=1)
    host.subscribe("G", "T")
    host.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G"))
    for _ in range(3):
        host.send("T")
    host.send("%DLQ%G")
    host.pull("T")
    host.broker.tables.offsets.commit("G", "T", 0, 1)
    host.broker.tables.offsets.commit("G", "%RETRY%G", 0, 0)
    host.clock.advance(5000)
    node = {"broker": "broker-a"}
    values = {
        "rocketmq_producer_offset": ({**node, "topic": "T"}, 3),
        "rocketmq_topic_dlq_offset": ({**node, "group": "G"}, 1),
        "rocketmq_topic_retry_offset": ({**node, "topic": "%RETRY%G"}, 0),
        "rocketmq_group_diff": (
            {"group": "G", "topic": "T", "countOfOnlineConsumers": "1", "msgModel": "1"},
            2,
        ),
        "rocketmq_consumer_offset": ({**node, "group": "G", "topic": "T"}, 1),
        "rocketmq_group_get_latency_by_storetime": ({**node, "group": "G", "topic": "T"}, 5000),
    }
    for name, (labels, value) in values.items():
        assert host.value(name, EXPORTER, **labels) == value, name
    maximum = host.values(f"{PREFIX}commitlog_maxoffset", EXPORTER)
    assert list(maximum.values()) == [host.broker.store.max_physical_offset]
    times = host.values(f"{PREFIX}pmdt_0ms", EXPORTER)
    assert list(times.values()) == [4]


def test_rates() -> None:
    host = ExportingBroker()
    host.broker.stats.put("T", 60, 6000)
    for _ in host.broker.stats.tick(host.clock.millis(), 10_000):
        pass
    assert host.value("rocketmq_producer_tps", EXPORTER, broker="broker-a", topic="T") == 6
    assert host.value("rocketmq_broker_tps", EXPORTER, broker="broker-a", brokerIP="127.0.0.1") == 6
