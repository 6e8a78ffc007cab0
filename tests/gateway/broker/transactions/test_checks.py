"""Who is asked about a transaction, and which can be checked anew."""

import pytest

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.transactions.checks import check_back, is_reachable, resume_check
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker


def check(number: int, group: str = "PG") -> CheckBack:
    return CheckBack(number, group, 0, 0, "K", "ID", b"")


def test_the_clients_of_a_group_are_asked_in_turn() -> None:
    memory = MemoryBroker()
    peers = [FakePeer(f"10.0.0.{number}:4001") for number in range(3)]
    for peer in peers:
        memory.broker.clients.register_producer("PG", Client(peer, peer.address, "JAVA", CURRENT_VERSION))
    peers[1].is_open = False
    asked: list[tuple[str, int]] = []

    def send(broker: Broker, client: Client, one: CheckBack) -> None:
        asked.append((client.client_id, one.number))

    check_back(memory.broker, [check(0), check(1), check(2), check(3, "nobody")], send)
    assert asked == [(peers[0].address, 0), (peers[2].address, 1), (peers[0].address, 2)]
    assert is_reachable(memory.broker.clients, "PG")
    assert not is_reachable(memory.broker.clients, "nobody")


@pytest.mark.parametrize("message_id", ["", "zz", "7F00000100002A9F" + "F" * 16])
def test_what_is_not_there_is_not_checked_anew(message_id: str) -> None:
    with pytest.raises(OperationError) as caught:
        resume_check(MemoryBroker().broker, message_id)
    assert caught.value.reason is Reason.SYSTEM_ERROR
