"""Leader and epochs of a broker: their ends in queues, and the epochs of messages."""

from __future__ import annotations

from mqgateway.engine.ha.epochs import Epochs
from mqgateway.gateway.broker.operations.replicas import NO_EPOCH_OFFSET
from tests.support.gateway.broker.operating import OperatedBroker


def with_epochs() -> OperatedBroker:
    """Return a broker in epoch 4, with messages of epochs 0, 1, 4; epochs 2 and 3 have none."""
    operated = OperatedBroker()
    broker = operated.broker
    broker.epochs = Epochs(broker.environment.disk, "/store/epochs")
    for number, body in ((0, b"a"), (1, b"b"), (2, b""), (4, b"c")):
        broker.epochs.begin(number, broker.store.max_physical_offset)
        if body:
            operated.send(body)
    broker.role.become(broker.role.state.kind, epoch=4)
    broker.store.gate = None
    return operated


def test_broker_without_epochs_is_in_epoch_0() -> None:
    operated = OperatedBroker()
    operated.send(b"a")
    replicas = operated.operations.replicas
    assert replicas.leads and replicas.epoch == 0 and replicas.own_id == 1
    assert replicas.nodes().nodes == ()
    assert replicas.epoch_end("T", 0, 0) == (0, 1)
    assert replicas.epoch_end("T", 0, 1) == replicas.epoch_end("T", 0, -1) == NO_EPOCH_OFFSET
    assert replicas.epoch_at("T", 0, 0) == 0


def test_epoch_ends_at_the_first_message_of_the_next_one() -> None:
    replicas = with_epochs().operations.replicas
    assert replicas.epoch_end("T", 0, 1) == (1, 2)
    assert replicas.epoch_end("T", 0, 3) in ((1, 2), (2, 2))
    assert replicas.epoch_end("T", 0, 4) == (4, 3)
    assert replicas.epoch_end("T", 0, 5) == NO_EPOCH_OFFSET
    assert replicas.epoch_end("none", 0, 1) == (1, 0)


def test_epoch_0_ends_with_the_queue() -> None:
    assert with_epochs().operations.replicas.epoch_end("T", 0, 0) == (0, 3)


def test_message_has_the_current_epoch_or_none() -> None:
    replicas = with_epochs().operations.replicas
    assert [replicas.epoch_at("T", 0, offset) for offset in (0, 1, 2, 2)] == [-1, -1, 4, 4]


def test_every_term_of_a_ledger_group_ends_with_the_queue() -> None:
    operated = with_epochs()
    operated.broker.term = lambda: 6
    replicas = operated.operations.replicas
    assert replicas.epoch == 6
    assert replicas.epoch_end("T", 0, 2) == (2, 3) and replicas.epoch_end("T", 0, 7) == NO_EPOCH_OFFSET
    assert replicas.epoch_at("T", 0, 0) == 6
