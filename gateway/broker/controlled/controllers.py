"""Controllers of `controllerAddr`: the leader, and requests to it.

Every controller returns the leader (1005). A leader that refuses because it no longer leads, or does not
answer, is forgotten, and looked up again with the next request. RocketMQ: `BrokerOuterAPI`,
`ReplicasManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import GetMetaDataResponseHeader
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

CALL_SECONDS = 3.0
LEADER_SECONDS = 1.0
"""Time limit of each query for the leader."""


class Controllers:
    """The controllers; `leader` is the address of the leader, empty while unknown."""

    def __init__(self, options: BrokerOptions, ask: Ask) -> None:
        self._options = options
        self._ask = ask
        self.leader = ""
        self._first = 0

    @property
    def addresses(self) -> list[str]:
        """Their addresses."""
        return [part.strip() for part in self._options.controller_addr.split(";") if part.strip()]

    def _in_turn(self) -> Iterator[str]:
        """Yield all addresses, starting at another one each time."""
        addresses = self.addresses
        self._first += 1
        for number in range(len(addresses)):
            yield addresses[(self._first + number) % len(addresses)]

    async def find_leader(self) -> None:
        """Query the leader. Raises `RemotingError` if there is none."""
        problem = "no controller is configured (controllerAddr)"
        for address in self._in_turn():
            try:
                command = RemotingCommand.request(RequestCode.CONTROLLER_GET_METADATA_INFO)
                answer = await self._ask(address, command, LEADER_SECONDS)
                header = GetMetaDataResponseHeader.decode(answer.ext_fields)
            except (RemotingError, ValueError) as error:
                problem = f"{address}: {error}"
                continue
            if answer.code == ResponseCode.SUCCESS and header.controller_leader_address:
                if header.controller_leader_address != self.leader:
                    log.info("the leading controller is at %s", header.controller_leader_address)
                self.leader = header.controller_leader_address
                return
            problem = f"{address} knows no controller that leads"
        self.leader = ""
        raise RemotingError(problem)

    async def ask(self, code: RequestCode, header: Header, body: bytes = b"") -> RemotingCommand:
        """Return the leader's answer to a request. Raises `RemotingError` if it does not answer."""
        if not self.leader:
            await self.find_leader()
        try:
            answer = await self._ask(self.leader, RemotingCommand.request(code, header, body), CALL_SECONDS)
        except RemotingError:
            self.leader = ""
            raise
        if answer.code == ResponseCode.CONTROLLER_NOT_LEADER:
            self.leader = ""
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")
        return answer
