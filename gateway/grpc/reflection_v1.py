"""Messages of grpc.reflection.v1: gRPC's server reflection; those of v1alpha are the same on the wire.

`reflection_v1.pyi` beside this file has their types.
"""

from mqgateway.gateway.grpc.messages import names_of

globals().update(names_of("grpc.reflection.v1"))
