"""Registration in the replica set: apply for an id once, register the address at each start.

RocketMQ: `ReplicasManager.register`.
"""

from __future__ import annotations

import logging

from mqgateway.engine.clock import Clock
from mqgateway.engine.ha.identity import Application, BrokerNameAndId, IdentityFiles
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.controlled.controllers import Controllers
from mqgateway.gateway.broker.controlled.master_reports import ReportedMaster, by_registration
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    ApplyBrokerIdRequestHeader,
    GetNextBrokerIdRequestHeader,
    GetNextBrokerIdResponseHeader,
    RegisterBrokerToControllerRequestHeader,
)
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)


class Joining:
    """Registration of this broker, whose clients connect to `address`.

    Every operation raises `RemotingError`, `HeaderError`, `ConfigError` and `OSError`, and may then be
    retried.
    """

    def __init__(
        self,
        options: BrokerOptions,
        files: IdentityFiles,
        controllers: Controllers,
        clock: Clock,
        address: str,
    ) -> None:
        self._options = options
        self._files = files
        self._controllers = controllers
        self._clock = clock
        self._address = address

    async def join(self) -> tuple[BrokerNameAndId, ReportedMaster]:
        """Register; return this broker's identity, and the state of its set."""
        identity = self._files.read()
        if identity is None:
            identity = await self._ask_for_id()
        header = RegisterBrokerToControllerRequestHeader(
            cluster_name=self._options.broker_cluster_name,
            broker_name=self._options.broker_name,
            broker_id=identity.number,
            broker_address=self._address,
            invoke_time=self._clock.millis(),
        )
        answer = await self._controllers.ask(RequestCode.CONTROLLER_REGISTER_BROKER, header)
        if answer.code == ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED:
            raise RemotingError(
                f"{answer.remark}: the controller has forgotten this broker. If its data was cleaned on "
                "purpose, remove the file brokerIdentity, and the broker gets another id"
            )
        if answer.code != ResponseCode.SUCCESS:
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")
        return identity, by_registration(answer)

    async def _ask_for_id(self) -> BrokerNameAndId:
        applied = self._files.applied() or await self._next()
        names = {
            "cluster_name": self._options.broker_cluster_name,
            "broker_name": self._options.broker_name,
        }
        header = ApplyBrokerIdRequestHeader(
            **names, applied_broker_id=applied.identity.number, register_check_code=applied.check_code
        )
        answer = await self._controllers.ask(RequestCode.CONTROLLER_APPLY_BROKER_ID, header)
        if answer.code != ResponseCode.SUCCESS:
            self._files.give_up()
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")
        self._files.keep(applied.identity)
        log.info("this broker has the id %d", applied.identity.number)
        return applied.identity

    async def _next(self) -> Application:
        options = self._options
        header = GetNextBrokerIdRequestHeader(
            cluster_name=options.broker_cluster_name, broker_name=options.broker_name
        )
        answer = await self._controllers.ask(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, header)
        number = GetNextBrokerIdResponseHeader.decode(answer.ext_fields).next_broker_id
        if answer.code != ResponseCode.SUCCESS or number is None:
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")
        return self._files.apply(number, f"{self._address};{self._clock.millis()}")
