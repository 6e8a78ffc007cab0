import pytest

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, OptionSet
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.metrics import ExporterOptions


@pytest.mark.parametrize(
    ("text", "expected"), [("DISABLE", False), ("PROM", True), ("2", True), ("OTLP_GRPC", False)]
)
def test_metrics_are_exported_when_they_are_scraped(text: str, expected: bool) -> None:
    options = BrokerOptions()
    assert not options.exports_metrics
    OptionSet(options).set("metricsExporterType", text)
    assert options.exports_metrics is expected


def test_name_servers_and_brokers_export_containers_tell_how_they_are() -> None:
    assert isinstance(NamesrvOptions(), ExporterOptions)
    assert "metricsPromExporterPort" not in OptionSet(ContainerOptions())
    assert OptionSet(ContainerOptions()).get("healthPort") == 0
