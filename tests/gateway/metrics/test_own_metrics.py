from mqgateway.engine.meters import Histogram
from mqgateway.engine.steps import run
from mqgateway.gateway.metrics.exposition import Exposition
from mqgateway.gateway.metrics.own_metrics import LOOP_LAG_BOUNDS, SERVER_METRICS, ServerReading
from tests.support.gateway.metrics import ExportingBroker, parsed


def test_the_process_is_measured() -> None:
    lag = Histogram(LOOP_LAG_BOUNDS, 1)
    lag.record((), 3)
    text: list[bytes] = []
    run(Exposition({}, 50).write(SERVER_METRICS, ServerReading(lag, ["m_total"]), text, []))
    found = parsed(b"".join(text).decode())
    assert found["process_resident_memory_bytes", ()] > 1 << 20
    assert found["process_cpu_seconds_total", ()] > 0
    assert found["process_open_fds", ()] > 0
    assert found["mqgateway_event_loop_lag_milliseconds_count", ()] == 1
    assert found["mqgateway_event_loop_lag_milliseconds_bucket", (("le", "5.0"),)] == 1
    assert found["mqgateway_metrics_truncated", (("metric", "m_total"),)] == 1
    assert [value for (name, _), value in found.items() if name == "mqgateway_build_info"] == [1]


def test_own_metrics_of_a_broker() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.subscribe("G", "T")
    host.pull("T", sys_flag=2)
    host.broker.flow_control.count("sends waiting")
    host.send("U", default_topic="none")
    assert host.value("mqgateway_broker_role", role="master") == 1
    assert host.value("mqgateway_held_requests", kind="pull") == 1
    assert host.value("mqgateway_held_requests", kind="pop") == 0
    assert host.value("mqgateway_flow_control_total", cause="sends waiting") == 1
    assert host.value("mqgateway_store_writable") == 1
    host.broker.tables.topics.left_out["gone"] += 2
    assert host.value("mqgateway_discarded_messages_total", topic="gone") == 2
    host.broker.retention.deleted = 3
    assert host.value("mqgateway_expired_messages_total") == 3
    assert host.value("mqgateway_inconsistent_groups") == 0
    before = host.value("mqgateway_store_log_bytes")
    host.send("T")
    assert host.value("mqgateway_store_log_bytes") == host.broker.store.max_physical_offset
    assert before == 0


def test_syncs_of_the_log_are_timed_and_sized() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.send("T")
    host.send("T")
    assert host.value("mqgateway_log_sync_latency_milliseconds_count") is None
    host.broker.store.when_flushed(host.broker.store.max_physical_offset, lambda _: None)
    host.broker.store.dispatch()
    assert host.value("mqgateway_log_sync_latency_milliseconds_count") == 1
    assert host.value("mqgateway_log_sync_size_bytes_sum") == host.broker.store.max_physical_offset
