import pytest

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, OptionSet, Setting
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.metrics import ExporterOptions, MetricsOptions


@pytest.mark.parametrize(
    ("text", "expected"),
    [("DISABLE", False), ("PROM", True), ("2", True), ("OTLP_GRPC", True), ("3", True), ("0", False)],
)
def test_metrics_are_exported_when_they_are_scraped(text: str, expected: bool) -> None:
    options = BrokerOptions()
    assert not options.exports_metrics
    OptionSet(options).set("metricsExporterType", text)
    assert options.exports_metrics is expected


def test_name_servers_and_brokers_export_containers_report_how_they_are() -> None:
    assert isinstance(NamesrvOptions(), ExporterOptions)
    assert "metricsPromExporterPort" not in OptionSet(ContainerOptions())
    assert OptionSet(ContainerOptions()).get("healthPort") == 0


@pytest.mark.parametrize(
    ("text", "scraped", "logged", "millis"), [("PROM", True, False, 60_000), ("LOG", False, True, 10_000)]
)
def test_exporter_type_sets_destination_and_period(
    text: str, scraped: bool, logged: bool, millis: int
) -> None:
    options = MetricsOptions(metrics_exporter_type=text)
    assert (options.is_scraped, options.logs_metrics, options.push_millis) == (scraped, logged, millis)


def test_a_kind_that_there_is_not_is_refused_with_the_one_that_was_meant() -> None:
    (problem,) = OptionSet(MetricsOptions()).check(
        [Setting("metricsExporterType", "PROMM", 1, "broker.conf")]
    )
    assert problem.severity == "error" and "PROM" in problem.suggestion
