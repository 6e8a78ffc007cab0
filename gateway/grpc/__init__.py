"""The gRPC front end, for clients that speak apache.rocketmq.v2.MessagingService; `front_end` declares it."""

NAME = "grpc"
"""The name of the front end, and of the protocol of its clients."""
FIRST_BYTES = b"PRI "
"""The start of HTTP/2, by which a shared port recognises gRPC."""
