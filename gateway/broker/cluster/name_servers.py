"""Name servers of the broker: one is queried, and the next one if it has no answer.

RocketMQ: `BrokerOuterAPI`, `NettyRemotingClient.getAndCreateNameserverChannel`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred, fail, maybeDeferred

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError
from mqgateway.gateway.runtime.name_servers import ask_in_turn, split_addresses

T = TypeVar("T")

LOOKUP_SECONDS = 3.0
"""Time limit of each query. RocketMQ: `TopicRouteInfoManager.GET_TOPIC_ROUTE_TIMEOUT`."""


class NameServers:
    """Name servers of `namesrvAddr`, which may be changed while the broker runs."""

    def __init__(self, options: BrokerOptions, ask: Ask) -> None:
        self._options = options
        self._ask = ask

    @property
    def addresses(self) -> list[str]:
        """Their addresses."""
        return split_addresses(self._options.namesrv_addr)

    def ask(self, command: RemotingCommand) -> Deferred[RemotingCommand]:
        """Return the first successful answer; fails like `read`."""
        return self.read(command, accepted)

    def read(self, command: RemotingCommand, read: Callable[[RemotingCommand], T]) -> Deferred[T]:
        """Return the result of `read` for the first answer for which it raises no error.

        Fails with the error of the last name server, or `RemotingError` if none is configured.
        """
        addresses = self.addresses
        if not addresses:
            return fail(RemotingError("no name server is configured (namesrvAddr)"))

        def ask(address: str) -> Deferred[T]:
            return maybeDeferred(self._ask, address, command, LOOKUP_SECONDS).addCallback(read)

        return Deferred.fromCoroutine(ask_in_turn(addresses, ask))


def accepted(answer: RemotingCommand) -> RemotingCommand:
    """Return the answer of a name server. Raises `RemotingError` for a refusal."""
    if answer.code != ResponseCode.SUCCESS:
        raise RemotingError(f"the name server answers {answer.code}, {answer.remark}")
    return answer
