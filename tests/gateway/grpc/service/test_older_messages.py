"""Receives of messages that the local log has deleted and a tier has."""

from __future__ import annotations

from mqgateway.gateway.grpc import v2
from tests.support.gateway.broker.tiered import BrokerTier
from tests.support.gateway.grpc.messaging import Service, acking, receiving

COUNT = 60


def filled(tier: BrokerTier) -> Service:
    """Return a service whose messages are mostly in the tier only."""
    service = Service(**tier.given)
    service.topic("O", queues=1)
    service.group()
    for number in range(COUNT):
        service.send(b"%d " % number + b"." * 150, "O")
        service.memory.clock.advance(1000)
    assert tier.move(service.broker, "O") > COUNT // 2
    service.consumer(topic="O")
    service.broker.tables.offsets.commit("G", "O", 0, 0)
    return service


def test_receive_and_acknowledgement_of_messages_in_the_tier() -> None:
    service = filled(BrokerTier())
    received = service.receive(topic="O", batch_size=4)
    assert [one.body.split()[0] for one in received] == [b"0", b"1", b"2", b"3"]
    answer = service.ask(acking(received, topic="O"))
    assert [entry.status.code for entry in answer.entries] == [v2.Code.OK] * 4
    service.pass_time(25_000)
    assert service.receive(topic="O", batch_size=1)[0].body.split()[0] == b"4"


def test_receive_has_no_message_while_the_store_is_away() -> None:
    """Clients receive again after the same answer as in an empty queue."""
    tier = BrokerTier()
    service = filled(tier)
    tier.break_off()
    _, answers = service.begin(receiving(topic="O"))
    service.pass_time(6000)
    assert answers[0].status.code == v2.Code.MESSAGE_NOT_FOUND
    service.send(b"fresh", "T")
    service.consumer(topic="T")
    assert [one.body for one in service.receive(topic="T")] == [b"fresh"]
    tier.recover()
    assert service.receive(topic="O", batch_size=1)[0].body.split()[0] == b"0"
