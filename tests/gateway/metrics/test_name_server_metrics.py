from types import SimpleNamespace
from typing import Any, cast

from mqgateway.engine.meters import Meters
from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.metrics.observed import EXPORTER, STANDARD, ObservedNameServer
from mqgateway.gateway.namesrv.registration import BrokerKey
from mqgateway.gateway.namesrv.routes import RouteTables
from mqgateway.gateway.namesrv.service import NameServerService
from tests.support.gateway.metrics import parsed


def test_brokers_by_cluster_and_topics() -> None:
    tables = RouteTables(NamesrvOptions())
    tables.clusters = {"C": {"a"}, "D": set()}
    live: Any = tables.live
    live[BrokerKey("C", "h:1")] = live[BrokerKey("C", "h:2")] = object()
    tables.topic_queues = {"T": {}, "U": {}}
    meters = Meters(10)
    meters.rpc_latency.record(("register_broker", "success", "false", "success"), 4)
    server = SimpleNamespace(tables=tables, is_ready=lambda: True)
    service = cast(NameServerService, SimpleNamespace(namesrv=server))
    observed = ObservedNameServer(service, NamesrvOptions(metrics_label="env:x"), meters, 10)
    text: list[bytes] = []
    run(observed.write(STANDARD, text, []))
    assert text == []
    observed.is_started = True
    run(observed.write(STANDARD, text, []))
    found = parsed(b"".join(text).decode())
    env = ("env", "x")
    assert found["mqgateway_namesrv_brokers", (("broker_cluster", "C"), env)] == 2
    assert found["mqgateway_namesrv_brokers", (("broker_cluster", "D"), env)] == 0
    assert found["mqgateway_namesrv_topics", (env,)] == 2
    assert found["mqgateway_namesrv_ready", (env,)] == 1
    latencies = [name for name, _ in found if name == "mqgateway_namesrv_request_latency_milliseconds_bucket"]
    assert len(latencies) == 10
    run(observed.write(EXPORTER, text := [], []))
    assert text == []
