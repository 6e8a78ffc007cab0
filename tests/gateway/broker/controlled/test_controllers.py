"""Which of the controllers leads, and what becomes of it when it does not any more."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.controlled.controllers import Controllers
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import GetMetaDataResponseHeader, GetReplicaInfoRequestHeader
from mqgateway.gateway.remoting.exchange import PeerGone, RemotingError

HEADER = GetReplicaInfoRequestHeader(broker_name="b1")


class Peers:
    """Controllers by address, each with the leader it returns; None does not answer."""

    def __init__(self, **leaders: str | None) -> None:
        self.leaders = leaders
        self.asked: list[tuple[str, int]] = []
        options = BrokerOptions(controller_addr=" ; ".join(leaders))
        self.controllers = Controllers(options, self.ask)

    def ask(self, address: str, command: RemotingCommand, timeout: float = 3.0) -> Deferred[RemotingCommand]:
        self.asked.append((address, command.code))
        leader = self.leaders[address]
        if leader is None:
            return fail(PeerGone("refused"))
        if command.code == RequestCode.CONTROLLER_GET_METADATA_INFO:
            header = GetMetaDataResponseHeader(controller_leader_address=leader)
            return succeed(RemotingCommand.response(0, header))
        if leader != address:
            return succeed(RemotingCommand.response(2007, remark="not leading"))
        return succeed(RemotingCommand.response(0, remark=address))

    def outcome(self) -> Any:
        asked = Deferred.fromCoroutine(self.controllers.ask(RequestCode.CONTROLLER_GET_REPLICA_INFO, HEADER))
        found: list[Any] = []
        asked.addBoth(found.append)
        return found[0]


def test_leader_is_found_behind_an_unreachable_peer() -> None:
    peers = Peers(a=None, b="c", c="c")
    for _ in range(3):
        peers.controllers.leader = ""
        assert peers.outcome().remark == "c"
    assert peers.controllers.leader == "c"


def test_former_leader_is_forgotten() -> None:
    peers = Peers(a="a", b="a")
    assert peers.outcome().remark == "a"
    peers.leaders = {"a": "b", "b": "b"}
    assert isinstance(peers.outcome().value, RemotingError)
    assert peers.controllers.leader == ""
    assert peers.outcome().remark == "b"


def test_leader_without_an_answer_is_forgotten() -> None:
    peers = Peers(a="a")
    peers.outcome()
    peers.leaders["a"] = None
    assert isinstance(peers.outcome().value, PeerGone)
    assert peers.controllers.leader == ""


@pytest.mark.parametrize("leaders", [{}, {"a": None}, {"a": ""}])
def test_request_without_a_leader_fails(leaders: dict[str, str | None]) -> None:
    peers = Peers(**leaders)
    assert isinstance(peers.outcome().value, RemotingError)
    assert RequestCode.CONTROLLER_GET_REPLICA_INFO not in {code for _, code in peers.asked}
