"""Sets of metrics, labels for all, limits, and the cost of a scrape of very many series."""

from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.metrics.observed import EXPORTER, STANDARD, ObservedFleet, labels_for_all
from tests.support.gateway.metrics import ExportingBroker, parsed

TOPICS, GROUPS = 1000, 200
NODE = 'cluster="DefaultCluster",node_id="broker-a",node_type="broker",otel_scope_name="broker-meter"'


def test_labels_of_the_node_and_the_settings() -> None:
    assert f"rocketmq_topic_number{{{NODE}}} " in ExportingBroker().scrape()
    options = {"metrics_label": "zone:z1", "metrics_in_delta": True}
    text = ExportingBroker(options=options).scrape()
    assert f'rocketmq_topic_number{{aggregation="delta",{NODE},zone="z1"}} ' in text
    assert labels_for_all(BrokerOptions()) == {}


def test_proxy_is_up_if_grpc_is_served() -> None:
    host = ExportingBroker()
    assert "rocketmq_proxy_up" not in host.scrape() and "mqgateway_grpc_connections" not in host.scrape()
    meter = host.meters.front_ends["grpc"] = FrontEndMeter(has_latency=False)
    meter.read_from(lambda: 3)
    node = NODE.replace('"broker"', '"proxy"')
    pairs = sorted([*node.split(","), 'proxy_mode="local"'])
    assert f"rocketmq_proxy_up{{{','.join(pairs)}}} 1\n" in host.scrape()
    assert host.value("mqgateway_grpc_connections") == 3


def test_bare_names() -> None:
    text = ExportingBroker(options={"metrics_unit_suffixes": False}).scrape()
    assert "\nrocketmq_storage_size{" in text
    assert "rocketmq_storage_size_bytes" not in text


def test_starting_broker_reports_its_recovery_and_is_not_ready() -> None:
    host = ExportingBroker()
    assert host.observed.health()["store"].is_fine
    assert host.value("mqgateway_store_recovered_ratio") == 1
    assert host.value("mqgateway_store_recovery_seconds") == 2.5
    host.observed.is_started = False
    host.observed._service.recovery_seconds = None
    assert parsed(host.scrape()) == {("mqgateway_store_recovered_ratio", ()): 0}
    assert host.observed.health()["store"] == (False, "starting")
    host.observed._service.recovered = 0.423
    assert parsed(host.scrape()) == {("mqgateway_store_recovered_ratio", ()): 0.423}
    assert host.observed.health()["store"] == (False, "recovering, 42% of the log read")


def test_nothing_is_counted_when_nothing_is_exported() -> None:
    host = ExportingBroker(options={"metrics_exporter_type": "DISABLE"})
    assert host.broker.stats.meters is None
    assert host.broker.timers.metrics.meters is None


def test_series_are_limited() -> None:
    host = ExportingBroker(options={"metrics_otel_cardinality_limit": 3})
    for number in range(5):
        host.add_topic(f"T{number}")
        host.send(f"T{number}")
    found = host.values("rocketmq_messages_in_total")
    assert sorted(found.values()) == [1, 1, 1, 2]
    assert found[("otel_metric_overflow", "true"),] == 2
    truncated: list[str] = []
    for _ in host.observed.write(STANDARD, [], truncated):
        pass
    assert "rocketmq_processor_watermark" in truncated
    assert "rocketmq_messages_in_total" not in truncated  # its overflow is a series of its own


def test_a_scrape_of_very_many_series_is_done_in_short_steps() -> None:
    host = ExportingBroker()
    host.broker.tables.topics.put(
        *(TopicConfig(topic_name=f"T{n}", read_queue_nums=4, write_queue_nums=4) for n in range(TOPICS))
    )
    host.broker.tables.groups.put(*(SubscriptionGroupConfig(group_name=f"G{n}") for n in range(GROUPS)))
    for number in range(TOPICS):
        host.send(f"T{number}")
    for number in range(GROUPS):
        for queue_id in range(4):
            host.broker.tables.offsets.commit(f"G{number}", f"T{number}", queue_id, 0)
    for metrics in (STANDARD, EXPORTER):
        text: list[bytes] = []
        written = longest = 0
        for _ in host.observed.write(metrics, text, []):
            lines = sum(chunk.count(b"\n") for chunk in text[written:])
            longest, written = max(longest, lines), len(text)
        assert sum(chunk.count(b"\n") for chunk in text) > TOPICS
        # A distribution has some ten lines, and 64 series are a step.
        assert longest < 64 * 10 + 2


def test_a_container_has_no_metrics_of_its_own() -> None:
    observed = ObservedFleet(None)  # type: ignore[arg-type]
    assert not observed.health()["brokers"].is_fine
    text: list[bytes] = []
    assert list(observed.write(STANDARD, text, [])) == []
    assert text == []
