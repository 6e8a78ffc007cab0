"""State of producers."""

from tests.support.gateway.broker.helpers import MemoryBroker


def test_brokers_with_one_address_give_different_keys() -> None:
    one, other = (MemoryBroker().broker.produce.unique_keys for _ in range(2))
    keys = [keys.next(1_700_000_000_000) for keys in (one, one, other)]
    assert len(set(keys)) == 3


def test_durability_follows_the_role_of_this_broker() -> None:
    broker = MemoryBroker().broker
    assert broker.produce.durability._role is broker.role
