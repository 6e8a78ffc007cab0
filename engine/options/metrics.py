"""Settings of exported metrics and of health over HTTP. Standard: `BrokerConfig`, `ControllerConfig`."""

from dataclasses import dataclass

from mqgateway.engine.options.option import option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import ONLY_PROMETHEUS

PROMETHEUS = ("PROM", "2")
"""How the exporter that is scraped is written: the standard takes names and numbers."""
OFF = ("DISABLE", "0", "")


@dataclass(kw_only=True)
class HealthOptions(Options):
    """Where a server says how it is."""

    health_port: int = option(
        0, "Port of /livez and /readyz; 0: only where metrics are served.", high=65535, ours=True
    )
    health_host: str = option("", "Address they are served at; empty: every one.", ours=True)


@dataclass(kw_only=True)
class ExporterOptions(HealthOptions):
    """How metrics leave a server."""

    metrics_exporter_type: str = option(
        "DISABLE", "How metrics leave: DISABLE or PROM; OTLP_GRPC and LOG are taken for DISABLE."
    )
    metrics_prom_exporter_port: int = option(5557, "Port that Prometheus scrapes.", low=1, high=65535)
    metrics_prom_exporter_host: str = option(
        "", "Address it is served at; empty: brokerIP1 of a broker, every one of a name server or container."
    )
    metrics_label: str = option(
        "", "Labels added to every metric, as name:value pairs separated by commas; others are passed over."
    )
    metrics_in_delta: bool = option(
        False, 'Adds the label aggregation="delta"; what is scraped stays cumulative.'
    )
    metrics_grpc_exporter_target: str = option("", "Where OTLP goes.", no_effect=ONLY_PROMETHEUS)
    metrics_grpc_exporter_header: str = option("", "Headers of OTLP.", no_effect=ONLY_PROMETHEUS, secret=True)
    metric_grpc_exporter_time_out_in_mills: int = option(
        3000, "Longest time of an export.", unit="ms", no_effect=ONLY_PROMETHEUS
    )
    metric_grpc_exporter_interval_in_mills: int = option(
        60000, "Time between exports.", unit="ms", no_effect=ONLY_PROMETHEUS
    )
    metric_logging_exporter_interval_in_mills: int = option(
        10000, "Time between metrics in the log.", unit="ms", no_effect=ONLY_PROMETHEUS
    )
    metrics_unit_suffixes: bool = option(
        True, "Ends names in their units, as the standard's exporter does; else they are bare.", ours=True
    )

    @property
    def exports_metrics(self) -> bool:
        """Whether there is something to scrape."""
        return self.metrics_exporter_type.strip() in PROMETHEUS


@dataclass(kw_only=True)
class MetricsOptions(ExporterOptions):
    """What a broker exports."""

    metrics_otel_cardinality_limit: int = option(
        50000, "Series of one metric; what comes beyond is counted together, or left out.", low=1
    )
    metrics_export_batch_max_data_points: int = option(
        1000, "Points of one OTLP request.", no_effect=ONLY_PROMETHEUS
    )
    enable_stats_metrics: bool = option(True, "Export permission and numbers of topics and groups.")
    enable_request_metrics: bool = option(True, "Export messages in and out, and creations.")
    enable_connection_metrics: bool = option(True, "Export numbers of clients.")
    enable_lag_and_dlq_metrics: bool = option(True, "Export lags and dead letters.")
    enable_transaction_metrics: bool = option(True, "Export transactions.")
    enable_remoting_metrics: bool = option(True, "Export the latency of requests.")
    enable_message_store_metrics: bool = option(True, "Export figures of store and timers.")
    enable_pop_metrics: bool = option(True, "Export check points and acknowledgements of pops.")
