"""`grpc.health.v1.Health`: every service that is served is well as long as anybody can ask.

Whether the broker takes messages is asked elsewhere (`/readyz`): a broker whose disk is full still serves.
"""

from __future__ import annotations

from mqgateway.gateway.grpc.call import CallFailed, GrpcCall, Methods, ServerStream, Status, Unary
from mqgateway.gateway.grpc.health_v1 import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListRequest,
    HealthListResponse,
)

SERVICE = "grpc.health.v1.Health"
SERVING = HealthCheckResponse(status=HealthCheckResponse.SERVING)
SERVICE_UNKNOWN = HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)


def health(others: Methods) -> Methods:
    """Return the methods of health, for a server that has these methods beside it."""
    services = {"", SERVICE, *(path.split("/")[1] for path in others)}

    def check(request: HealthCheckRequest, call: GrpcCall) -> HealthCheckResponse:
        if request.service not in services:
            raise CallFailed(Status.NOT_FOUND, "unknown service")
        return SERVING

    def watch(request: HealthCheckRequest, call: GrpcCall) -> None:
        """Nothing ever changes while the connection lives, so there is one answer, and the stream stays."""
        call.send(SERVING if request.service in services else SERVICE_UNKNOWN)

    def names(request: HealthListRequest, call: GrpcCall) -> HealthListResponse:
        answer = HealthListResponse()
        for name in services:
            answer.statuses[name].CopyFrom(SERVING)
        return answer

    return {
        f"/{SERVICE}/Check": Unary(HealthCheckRequest, check),
        f"/{SERVICE}/List": Unary(HealthListRequest, names),
        f"/{SERVICE}/Watch": ServerStream(HealthCheckRequest, watch),
    }
