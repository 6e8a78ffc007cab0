"""Settings of the gRPC port. Standard: `ProxyConfig`, the settings of Apache's proxy."""

from mqgateway.engine.options.option import INT_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class GrpcOptions(Options):
    """Port of gRPC, and limits of its connections."""

    grpc_server_port: int = option(
        0,
        "Port for gRPC, which is then also accepted on listenPort. 0: no gRPC. `mqgateway serve` uses 8081.",
        high=65535,
        effect=Effect.RESTART,
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
