"""Settings of exported metrics and of health over HTTP. Standard: `BrokerConfig`, `ControllerConfig`."""

from mqgateway.engine.options.option import BadValue, Effect, closest, option
from mqgateway.engine.options.option_set import Options

PROMETHEUS = ("PROM", "2")
"""How the exporter that is scraped is written: the standard takes names and numbers."""
COLLECTOR = ("OTLP_GRPC", "1")
LOG = ("LOG", "3")
KINDS = ("DISABLE", "0", "", *COLLECTOR, *PROMETHEUS, *LOG)


def _kind(text: str) -> None:
    if text not in KINDS:
        names = [kind for kind in KINDS if len(kind) > 1]
        raise BadValue(f"not one of {', '.join(names)}", closest(text, names))


class HealthOptions(Options):
    """Where a server says how it is."""

    health_port: int = option(
        0,
        "Port of /livez and /readyz; 0: only where metrics are served.",
        high=65535,
        ours=True,
        effect=Effect.RESTART,
    )
    health_host: str = option(
        "", "Address they are served at; empty: every one.", ours=True, effect=Effect.RESTART
    )


class ExporterOptions(HealthOptions):
    """How metrics leave a server."""

    metrics_exporter_type: str = option(
        "DISABLE",
        "How metrics leave: DISABLE, PROM (scraped), OTLP_GRPC (to a collector) or LOG.",
        check=_kind,
        effect=Effect.RESTART,
    )
    metrics_prom_exporter_port: int = option(
        5557, "Port that Prometheus scrapes.", low=1, high=65535, effect=Effect.RESTART
    )
    metrics_prom_exporter_host: str = option(
        "",
        "Address it is served at; empty: brokerIP1 of a broker, every one of a name server or container.",
        effect=Effect.RESTART,
    )
    metrics_label: str = option(
        "",
        "Labels added to every metric, as name:value pairs separated by commas; others are passed over.",
        effect=Effect.RESTART,
    )
    metrics_in_delta: bool = option(
        False,
        'Adds the label aggregation="delta"; what is scraped stays cumulative.',
        effect=Effect.RESTART,
    )
    metrics_grpc_exporter_target: str = option(
        "", "Collector that OTLP goes to; without a scheme by https.", effect=Effect.RESTART
    )
    metrics_grpc_exporter_header: str = option(
        "",
        "Headers of OTLP, as name:value pairs separated by commas.",
        secret=True,
        effect=Effect.RESTART,
    )
    metric_grpc_exporter_time_out_in_mills: int = option(
        3000, "Longest time of an export.", unit="ms", low=1, effect=Effect.RESTART
    )
    metric_grpc_exporter_interval_in_mills: int = option(
        60000, "Time between exports.", unit="ms", low=1, effect=Effect.RESTART
    )
    metric_logging_exporter_interval_in_mills: int = option(
        10000,
        "Time between metrics in the log.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    metrics_unit_suffixes: bool = option(
        True,
        "Ends names in their units, as the standard's exporter does; else they are bare.",
        ours=True,
        effect=Effect.RESTART,
    )

    @property
    def exports_metrics(self) -> bool:
        """Whether metrics leave at all."""
        return self.metrics_exporter_type.strip() in (*PROMETHEUS, *COLLECTOR, *LOG)

    @property
    def is_scraped(self) -> bool:
        """Whether they wait to be scraped; else they leave by themselves."""
        return self.metrics_exporter_type.strip() in PROMETHEUS

    @property
    def logs_metrics(self) -> bool:
        """Whether they go to the log."""
        return self.metrics_exporter_type.strip() in LOG

    @property
    def push_millis(self) -> int:
        """How often they leave by themselves."""
        if self.logs_metrics:
            return self.metric_logging_exporter_interval_in_mills
        return self.metric_grpc_exporter_interval_in_mills


class MetricsOptions(ExporterOptions):
    """What a broker exports."""

    metrics_otel_cardinality_limit: int = option(
        50000,
        "Series of one metric; what comes beyond is counted together, or left out.",
        low=1,
        effect=Effect.RESTART,
    )
    metrics_export_batch_max_data_points: int = option(
        1000, "Points of one OTLP request.", low=1, effect=Effect.RESTART
    )
    traces_grpc_exporter_target: str = option(
        "",
        "Collector that spans go to by OTLP, where their messages ask for them.",
        ours=True,
        effect=Effect.RESTART,
    )
    traces_grpc_exporter_header: str = option(
        "",
        "Headers of those, as name:value pairs separated by commas.",
        secret=True,
        ours=True,
        effect=Effect.RESTART,
    )
    enable_stats_metrics: bool = option(
        True, "Export permission and numbers of topics and groups.", effect=Effect.RESTART
    )
    enable_request_metrics: bool = option(
        True, "Export messages in and out, and creations.", effect=Effect.RESTART
    )
    enable_connection_metrics: bool = option(True, "Export numbers of clients.", effect=Effect.RESTART)
    enable_lag_and_dlq_metrics: bool = option(True, "Export lags and dead letters.", effect=Effect.RESTART)
    enable_transaction_metrics: bool = option(True, "Export transactions.", effect=Effect.RESTART)
    enable_remoting_metrics: bool = option(True, "Export the latency of requests.", effect=Effect.RESTART)
    enable_message_store_metrics: bool = option(
        True, "Export figures of store and timers.", effect=Effect.RESTART
    )
    enable_pop_metrics: bool = option(
        True, "Export check points and acknowledgements of pops.", effect=Effect.RESTART
    )
