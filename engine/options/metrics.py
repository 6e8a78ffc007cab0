"""Settings of metrics and of health checks over HTTP. Standard: `BrokerConfig`, `ControllerConfig`."""

from mqgateway.engine.options.option import BadValue, Effect, closest, option
from mqgateway.engine.options.option_set import Options

PROMETHEUS = ("PROM", "2")
"""Spellings of the scraped exporter: RocketMQ accepts names and numbers."""
COLLECTOR = ("OTLP_GRPC", "1")
LOG = ("LOG", "3")
KINDS = ("DISABLE", "0", "", *COLLECTOR, *PROMETHEUS, *LOG)


def _kind(text: str) -> None:
    if text not in KINDS:
        names = [kind for kind in KINDS if len(kind) > 1]
        raise BadValue(f"not one of {', '.join(names)}", closest(text, names))


class HealthOptions(Options):
    """Port of the health checks."""

    health_port: int = option(
        0,
        "Port of /livez and /readyz. 0: they are served on the metrics port only.",
        high=65535,
        ours=True,
        effect=Effect.RESTART,
    )
    health_host: str = option(
        "", "Address that healthPort listens on. Empty: all addresses.", ours=True, effect=Effect.RESTART
    )


class ExporterOptions(HealthOptions):
    """Export of metrics."""

    metrics_exporter_type: str = option(
        "DISABLE",
        "Exporter of metrics: DISABLE, PROM (scraped), OTLP_GRPC (sent to a collector) or LOG.",
        check=_kind,
        effect=Effect.RESTART,
    )
    metrics_prom_exporter_port: int = option(
        5557, "Port that Prometheus scrapes. 0: any free port.", high=65535, effect=Effect.RESTART
    )
    metrics_prom_exporter_host: str = option(
        "",
        "Address that metricsPromExporterPort listens on. Empty: brokerIP1 for a broker, all addresses "
        "for a name server or container.",
        effect=Effect.RESTART,
    )
    metrics_label: str = option(
        "",
        "Labels added to every metric, as name:value pairs separated by commas. Other entries are ignored.",
        effect=Effect.RESTART,
    )
    metrics_in_delta: bool = option(
        False,
        'Add the label aggregation="delta". Scraped values stay cumulative.',
        effect=Effect.RESTART,
    )
    metrics_grpc_exporter_target: str = option(
        "", "Address of the OTLP collector. An address without a scheme uses https.", effect=Effect.RESTART
    )
    metrics_grpc_exporter_header: str = option(
        "",
        "Headers of OTLP requests, as name:value pairs separated by commas.",
        secret=True,
        effect=Effect.RESTART,
    )
    metric_grpc_exporter_time_out_in_mills: int = option(
        3000, "Timeout of an OTLP export.", unit="ms", low=1, effect=Effect.RESTART
    )
    metric_grpc_exporter_interval_in_mills: int = option(
        60000, "Interval between OTLP exports.", unit="ms", low=1, effect=Effect.RESTART
    )
    metric_logging_exporter_interval_in_mills: int = option(
        10000,
        "Interval between metrics in the log.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    metrics_unit_suffixes: bool = option(
        True,
        "Append the unit to metric names, as Apache's exporter does.",
        ours=True,
        effect=Effect.RESTART,
    )

    @property
    def exports_metrics(self) -> bool:
        """Return True if metrics are exported."""
        return self.metrics_exporter_type.strip() in (*PROMETHEUS, *COLLECTOR, *LOG)

    @property
    def is_scraped(self) -> bool:
        """Return True if metrics are scraped; otherwise they are pushed."""
        return self.metrics_exporter_type.strip() in PROMETHEUS

    @property
    def logs_metrics(self) -> bool:
        """Return True if metrics are written to the log."""
        return self.metrics_exporter_type.strip() in LOG

    @property
    def push_millis(self) -> int:
        """Return the interval between pushes in ms."""
        if self.logs_metrics:
            return self.metric_logging_exporter_interval_in_mills
        return self.metric_grpc_exporter_interval_in_mills


class MetricsOptions(ExporterOptions):
    """Metrics and spans that a broker exports."""

    metrics_otel_cardinality_limit: int = option(
        50000,
        "Maximum number of series of one metric. Further series are added up in one overflow series or "
        "left out.",
        low=1,
        effect=Effect.RESTART,
    )
    metrics_export_batch_max_data_points: int = option(
        1000, "Maximum number of points in one OTLP request.", low=1, effect=Effect.RESTART
    )
    traces_grpc_exporter_target: str = option(
        "",
        "OTLP collector for spans of messages that carry a trace context. Empty: no spans.",
        ours=True,
        effect=Effect.RESTART,
    )
    traces_grpc_exporter_header: str = option(
        "",
        "Headers of OTLP requests with spans, as name:value pairs separated by commas.",
        secret=True,
        ours=True,
        effect=Effect.RESTART,
    )
    enable_stats_metrics: bool = option(
        True, "Export the broker's permission and the numbers of topics and groups.", effect=Effect.RESTART
    )
    enable_request_metrics: bool = option(
        True, "Export messages in and out, and the creation of topics and groups.", effect=Effect.RESTART
    )
    enable_connection_metrics: bool = option(
        True, "Export the numbers of connected clients.", effect=Effect.RESTART
    )
    enable_lag_and_dlq_metrics: bool = option(
        True, "Export consumer lag and dead letters.", effect=Effect.RESTART
    )
    enable_transaction_metrics: bool = option(True, "Export transaction metrics.", effect=Effect.RESTART)
    enable_remoting_metrics: bool = option(True, "Export the latency of requests.", effect=Effect.RESTART)
    enable_message_store_metrics: bool = option(
        True, "Export metrics of the store and of timers.", effect=Effect.RESTART
    )
    enable_pop_metrics: bool = option(
        True, "Export checkpoints and acknowledgements of POP.", effect=Effect.RESTART
    )
