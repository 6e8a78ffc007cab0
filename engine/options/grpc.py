"""Settings of the port that gRPC clients call. Standard: `ProxyConfig`, which is the proxy's."""

from mqgateway.engine.options.option import INT_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class GrpcOptions(Options):
    """Where gRPC is served, and what its connections may cost."""

    grpc_server_port: int = option(
        0,
        "Port of gRPC, which the main port takes then too; 0: none. `mqgateway serve` sets 8081.",
        high=65535,
        effect=Effect.RESTART,
    )
    grpc_max_inbound_message_size: int = option(
        130 * 1024**2,
        "Length of a request; a longer one is refused.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        effect=Effect.RESTART,
    )
    grpc_client_idle_time_mills: int = option(
        120_000,
        "A connection without calls for so long is closed.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    grpc_max_calls: int = option(
        1000,
        "Calls of one connection that may be open, long polls and the stream of commands among them.",
        low=100,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    grpc_max_metadata_size: int = option(
        16 * 1024,
        "Size of a call's metadata as HTTP/2 counts it; a connection that sends more is closed.",
        unit="bytes",
        low=4096,
        high=1024**2,
        ours=True,
        effect=Effect.RESTART,
    )
    grpc_max_idle_frames: int = option(
        2000,
        "Frames that carry no call (resets, pings, settings, empty data) that a connection may send in 30 s; "
        "one that sends more is closed.",
        low=100,
        ours=True,
        effect=Effect.RESTART,
    )
