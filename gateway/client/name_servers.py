"""The name servers: one of them is asked, and the next one when it fails.

None knows of the others, and each knows everything. Standard:
`NettyRemotingClient.getAndCreateNameserverChannel`, `MQClientAPIImpl.getTopicRouteInfoFromNameServer`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from random import Random

from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.client.asking import Asking
from mqgateway.gateway.client.errors import BadArgument, BrokerError, Unreachable
from mqgateway.gateway.codec.bodies import TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader
from mqgateway.gateway.runtime.name_servers import ask_in_turn

log = logging.getLogger(__name__)


class NameServerList:
    """The list, and whose turn it is. The list is shuffled, so that clients do not all ask the first."""

    def __init__(self, addresses: Sequence[str], asking: Asking, random: Random) -> None:
        self.addresses = list(addresses)
        random.shuffle(self.addresses)
        self._asking = asking
        self._turn = 0
        self._is_closed = False

    def close(self) -> None:
        """Log later failures as debug messages: the client's own end cuts off requests in flight."""
        self._is_closed = True

    async def ask(self, code: int, header: Header | None = None, body: bytes = b"") -> RemotingCommand:
        """Return the answer of the first name server that gives one, whatever it is.

        Raises `Unreachable` when none does, `BadArgument` when there is none.
        """
        if not self.addresses:
            raise BadArgument("no name server is configured: give namesrv_addr, or set NAMESRV_ADDR")
        reasons = []

        async def ask(address: str) -> RemotingCommand:
            try:
                return await self._asking.ask(address, code, header, body)
            except Unreachable as error:
                reasons.append(str(error))
                level = logging.DEBUG if self._is_closed else logging.WARNING
                log.log(level, "name server %s does not answer: %s", address, error)
                self._turn += 1
                raise

        turn = self._turn % len(self.addresses)
        try:
            return await ask_in_turn(self.addresses[turn:] + self.addresses[:turn], ask, Unreachable)
        except Unreachable:
            raise Unreachable("no name server answers: " + "; ".join(reasons)) from None

    async def route(self, topic: str) -> TopicRouteData | None:
        """Return the route of a topic; None when there is none. Raises `Unreachable` or `BrokerError`."""
        header = GetRouteInfoRequestHeader(topic=topic)
        answer = await self.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, "the name server")
        return decode_body(TopicRouteData, answer) if answer.body else None
