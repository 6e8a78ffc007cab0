"""Client-metrics resources, and their file."""

from __future__ import annotations

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.tables.client_metrics import CLIENT_METRICS_CONFIGS, ClientMetrics, ClientMetricsTable
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/config/kafkaClientMetrics.json"
RESOURCE = ClientMetrics("a", {"metrics": "x,y", "interval.ms": "1000"})


def test_resources_survive_a_restart() -> None:
    disk = CrashDisk()
    table = ClientMetricsTable(disk, PATH, ManualClock())
    table.put(
        ClientMetrics("a", {"metrics": "x,y", "interval.ms": "1000"}), ClientMetrics("b", {"match": ""})
    )
    table.delete("b")
    table.close()
    after = ClientMetricsTable(disk, PATH, ManualClock())
    after.load()
    assert list(after.all()) == [RESOURCE]
    assert after.get("b") is None


def test_defaults_are_allowed_values() -> None:
    for config in CLIENT_METRICS_CONFIGS.values():
        assert config.problem(config.default) is None and config.meaning.endswith(".")
