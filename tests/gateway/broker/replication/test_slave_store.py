"""Nobody writes to a slave's log but its master."""

from __future__ import annotations

from mqgateway.engine.ha.escape import Escape, Sent
from mqgateway.engine.message import Message
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.replication.slave_store import SlaveStore
from tests.support.engine.store.stores import message
from tests.support.gateway.broker.group import Group


def slave_store() -> SlaveStore:
    """The store of a slave in memory."""
    group = Group()
    group.master()
    store = group.slave().store
    assert isinstance(store, SlaveStore)
    return store


def test_a_slave_puts_nothing() -> None:
    store = slave_store()
    end = store.raw.position
    refused = PutStatus.SERVICE_NOT_AVAILABLE
    assert store.put(message()).status is refused
    assert store.put_batch(message(), b"").status is refused
    assert store.put_inner_batch(message()).status is refused
    assert store.raw.position == end


def test_while_it_acts_messages_go_elsewhere() -> None:
    store = slave_store()
    end = store.raw.position
    sent: list[Message] = []

    def send(one: Message, ended: Sent) -> None:
        sent.append(one)
        ended(True)

    store.escape = Escape(send, 1)
    assert store.put(message(body=b"x")).status is PutStatus.PUT_OK
    assert [one.body for one in sent] == [b"x"]
    assert store.put_batch(message(), b"").status is PutStatus.SERVICE_NOT_AVAILABLE
    assert store.raw.position == end


def test_the_store_of_a_master_is_an_ordinary_one() -> None:
    assert not isinstance(Group().master().store, SlaveStore)
