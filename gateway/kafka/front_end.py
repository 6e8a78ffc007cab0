"""The declaration of Kafka's protocol; nothing of it is loaded before it is started."""

from __future__ import annotations

from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from mqgateway.gateway.kafka import NAME


def start(around: FrontEndEnvironment) -> Running:
    """Start Kafka's protocol on its port."""
    from mqgateway.gateway.kafka.server import KafkaServer

    before = None
    if around.faults is not None:
        from mqgateway.gateway.kafka.faults import KafkaFaults

        before = KafkaFaults(around.faults).before
    server = KafkaServer(
        around.operations,
        around.server,
        reactor=around.reactor,
        advertised=around.advertised,
        worker=around.worker,
        latency=around.meter.latency,
        before=before,
    )
    around.meter.read_from(lambda: server.connection_count, server.telemetry, server.quotas)
    server.start(around.host, around.port)
    return server


KAFKA = FrontEnd(
    name=NAME,
    title="Kafka",
    start=start,
    setting="kafkaPort",
    flag="--kafka-port",
    flag_help="Port for Kafka clients. 0: no Kafka.",
    serve_port=9092,
    usage="Kafka clients: bootstrap.servers={}",
)
