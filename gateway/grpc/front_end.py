"""The declaration of gRPC; nothing of it is loaded before it is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from mqgateway.gateway.grpc import NAME

if TYPE_CHECKING:
    from mqgateway.gateway.grpc.call import Methods


def start(around: FrontEndEnvironment) -> Running:
    """Start gRPC on its port and on the broker's."""
    from mqgateway.gateway.grpc.listener import GrpcListener

    def before(methods: Methods) -> Methods:
        if around.spans is not None:
            from mqgateway.gateway.grpc.spans import GrpcSpans

            methods = GrpcSpans(around.spans).before(methods)
        if around.faults is not None:
            from mqgateway.gateway.grpc.faults import GrpcFaults

            methods = GrpcFaults(around.faults, lambda call: listener.abort(call.peer)).before(methods)
        return methods

    noted, latency = None, around.meter.latency
    if latency is not None:
        from mqgateway.gateway.grpc.times import CallTimes

        noted = CallTimes(latency).noted
    listener = GrpcListener(
        around.operations,
        around.server,
        reactor=around.reactor,
        worker=around.worker,
        noted=noted,
        before=before,
    )
    around.meter.read_from(lambda: listener.connection_count)
    listener.start(around.host, around.port)
    return listener


GRPC = FrontEnd(
    name=NAME,
    title="gRPC",
    start=start,
    setting="grpcServerPort",
    flag="--grpc-port",
    flag_help="gRPC port for clients of 5.x. 0: no gRPC.",
    serve_port=8081,
    usage="clients of 5.x: endpoints {}",
)
