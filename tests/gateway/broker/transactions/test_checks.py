"""The clients that check a transaction, and transactions that can be checked again."""

import pytest

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.transactions.checks import check_back, is_reachable, resume_check
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker


def check(number: int, group: str = "PG") -> CheckBack:
    return CheckBack(number, group, 0, 0, "K", "ID", b"", "T")


class Asked(RemotingOutgoing):
    """Channel to a client that records the broker's checks."""

    def __init__(self, peer: FakePeer, asked: list[tuple[str, int, str]]) -> None:
        super().__init__(peer, CURRENT_VERSION)
        self.address = peer.address
        self.asked = asked

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        self.asked.append((self.address, check.number, broker_name))


def test_clients_of_a_group_are_queried_in_turn() -> None:
    memory = MemoryBroker()
    peers = [FakePeer(f"10.0.0.{number}:4001") for number in range(3)]
    asked: list[tuple[str, int, str]] = []
    for peer in peers:
        client = GroupClient(peer, peer.address, "RUST", 1, Asked(peer, asked))
        memory.broker.clients.register_producer("PG", client)
    peers[1].is_open = False
    check_back(memory.broker, [check(0), check(1), check(2), check(3, "nobody")])
    assert asked == [(peers[at].address, number, "broker-a") for number, at in enumerate((0, 2, 0))]
    assert is_reachable(memory.broker.clients, "PG", "T")
    assert not is_reachable(memory.broker.clients, "nobody", "T")


@pytest.mark.parametrize("message_id", ["", "zz", "7F00000100002A9F" + "F" * 16])
def test_missing_half_message_is_not_checked_again(message_id: str) -> None:
    with pytest.raises(OperationError) as caught:
        resume_check(MemoryBroker().broker, message_id, None)
    assert caught.value.reason is Reason.SYSTEM_ERROR


def test_producer_without_permission_is_not_asked_about_a_topic() -> None:
    """The half message goes with the question, and any name may be that of a producer group."""
    memory = MemoryBroker()
    peers = [FakePeer(f"10.0.0.{number}:4001") for number in range(2)]
    asked: list[tuple[str, int, str]] = []
    for peer, topic in zip(peers, ("T", "other"), strict=True):
        client = GroupClient(peer, peer.address, "RUST", 1, Asked(peer, asked), may_use=topic.__eq__)
        memory.broker.clients.register_producer("PG", client)
    check_back(memory.broker, [check(0), check(1)])
    assert asked == [(peers[0].address, 0, "broker-a"), (peers[0].address, 1, "broker-a")]
    assert is_reachable(memory.broker.clients, "PG", "other")
    assert not is_reachable(memory.broker.clients, "PG", "third")
