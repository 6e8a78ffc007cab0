"""Messages of grpc.health.v1: gRPC's health service.

`health_v1.pyi` beside this file has their types.
"""

from mqgateway.gateway.grpc.messages import names_of

globals().update(names_of("grpc.health.v1"))
