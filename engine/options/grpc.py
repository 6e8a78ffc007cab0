"""Settings of the gRPC port. Standard: `ProxyConfig`, the settings of Apache's proxy."""

from mqgateway.engine.options.option import INT_MAX, BadValue, Effect, option
from mqgateway.engine.options.option_set import Options

PORT_MAX = 65535


def ports_by_broker(text: str) -> dict[str, int]:
    """Return the ports of a text of `name:port` pairs, which semicolons separate. Raises `BadValue`."""
    ports: dict[str, int] = {}
    for pair in filter(None, (pair.strip() for pair in text.split(";"))):
        name, _, port = pair.rpartition(":")
        if not name or not port.isdecimal() or not 0 < int(port) <= PORT_MAX:
            raise BadValue(f"{pair} is not a name and a port", "broker-b:8091")
        ports[name] = int(port)
    return ports


class GrpcOptions(Options):
    """Port of gRPC, and limits of its connections."""

    grpc_server_port: int = option(
        0,
        "Port for gRPC, which is then also accepted on listenPort. 0: no gRPC. `mqgateway serve` uses 8081.",
        high=PORT_MAX,
        effect=Effect.RESTART,
    )
    grpc_ports_of_brokers: str = option(
        "",
        "gRPC ports of other brokers, as name:port pairs separated by semicolons. Routes name a broker that "
        "is not listed with the port of this one.",
        ours=True,
        check=ports_by_broker,
    )
    grpc_max_inbound_message_size: int = option(
        130 * 1024**2,
        "Maximum size of a gRPC request. Larger requests are refused.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        effect=Effect.RESTART,
    )
    grpc_client_idle_time_mills: int = option(
        120_000,
        "Time without calls after which a gRPC connection is closed.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    grpc_max_calls: int = option(
        1000,
        "Maximum number of open calls on one connection, including long polls and the telemetry stream.",
        low=100,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    grpc_max_metadata_size: int = option(
        16 * 1024,
        "Maximum size of a call's metadata, as HTTP/2 counts it. A connection that exceeds it is closed.",
        unit="bytes",
        low=4096,
        high=1024**2,
        ours=True,
        effect=Effect.RESTART,
    )
    grpc_max_idle_frames: int = option(
        2000,
        "Maximum number of frames without a call (resets, pings, settings, empty data) in 30 s. A "
        "connection that exceeds it is closed.",
        low=100,
        ours=True,
        effect=Effect.RESTART,
    )
