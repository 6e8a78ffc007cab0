"""A RocketMQ server for tests, in memory and on real ports; see `mqgateway.gateway.testing`."""

from mqgateway.gateway.testing import ANY, PULL, SEND, Fault, Server, ServerError

__all__ = ["ANY", "PULL", "SEND", "Fault", "Server", "ServerError"]
