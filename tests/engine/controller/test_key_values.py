"""The contract of a shared store: of the one for tests, and of the same behind HTTP."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.controller.key_values import Kept, KeyValues, Lease, Outcome, Transaction
from mqgateway.gateway.controller.etcd import endpoints_of
from mqgateway.gateway.controller.etcd_client import EtcdClient
from tests.support.engine.controller.etcd_model import EtcdModel, Line
from tests.support.engine.controller.place_contract import check_place
from tests.support.gateway.controller.etcd_server import EtcdServer
from tests.support.gateway.remoting.pair import Net


class Blocking:
    """A store whose answers are waited for."""

    def __init__(self, place: KeyValues, net: Net) -> None:
        self._place, self._net = place, net

    def _wait(self, outcomes: list[Any]) -> Any:
        self._net.settle()
        (outcome,) = outcomes
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def transact(self, wanted: Transaction) -> Outcome:
        outcomes: list[Any] = []
        self._place.transact(wanted, outcomes.append)
        return self._wait(outcomes)  # type: ignore[no-any-return]

    def grant(self, seconds: int) -> Lease:
        outcomes: list[Any] = []
        self._place.grant(seconds, outcomes.append)
        return self._wait(outcomes)  # type: ignore[no-any-return]

    def keep(self, number: int) -> Kept:
        outcomes: list[Any] = []
        self._place.keep(number, outcomes.append)
        return self._wait(outcomes)  # type: ignore[no-any-return]

    def revoke(self, number: int) -> None:
        outcomes: list[Any] = []
        self._place.revoke(number, outcomes.append)
        self._wait(outcomes)


def test_the_model_keeps_to_it() -> None:
    check_place(EtcdModel(), "/test/")
    check_place(Blocking(Line(EtcdModel()), Net()), "/test/")


def test_the_client_keeps_to_it() -> None:
    net = Net()
    EtcdServer(net, 2379, EtcdModel())
    client = EtcdClient(endpoints_of("http://h:2379"), reactor=net, seconds=1)
    check_place(Blocking(client, net), "/test/")
