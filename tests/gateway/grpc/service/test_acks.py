"""Acknowledgements, changes of time, dead letters."""

from __future__ import annotations

import pytest

from mqgateway.gateway.grpc import v2
from tests.support.gateway.broker.pop import GRACE
from tests.support.gateway.grpc.messaging import Service, acking, receiving

G, T = v2.Resource(name="G"), v2.Resource(name="T")


@pytest.fixture
def service() -> Service:
    """With a consumer."""
    made = Service()
    made.consumer()
    return made


def changing(got: v2.Message, seconds: int) -> v2.ChangeInvisibleDurationRequest:
    """A message is to come again in so many seconds."""
    system = got.system_properties
    return v2.ChangeInvisibleDurationRequest(
        group=G,
        topic=T,
        receipt_handle=system.receipt_handle,
        message_id=system.message_id,
        invisible_duration=v2.Duration(seconds=seconds),
    )


def forwarding(handle: str) -> v2.ForwardMessageToDeadLetterQueueRequest:
    """A message is given up."""
    return v2.ForwardMessageToDeadLetterQueueRequest(group=G, topic=T, receipt_handle=handle)


def test_acknowledged_message_is_not_redelivered(service: Service) -> None:
    service.send(b"a")
    got = service.receive()
    answer = service.ask(acking(got))
    assert [entry.status.code for entry in answer.entries] == [v2.Code.OK]
    service.pass_time(30_000)
    call, _ = service.begin(receiving())
    assert call.ended is None


def test_a_message_comes_again_when_it_is_asked_to(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    changed = service.ask(changing(got, 3))
    assert changed.status.code == v2.Code.OK
    assert changed.receipt_handle.split(" ")[2] == "3000"
    service.pass_time(3_000 + GRACE)
    assert [one.body for one in service.receive()] == [b"a"]


def test_the_handle_of_a_change_is_the_one_to_acknowledge_with(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    got.system_properties.receipt_handle = service.ask(changing(got, 3)).receipt_handle
    assert service.ask(acking([got])).status.code == v2.Code.OK
    service.pass_time(3_000 + GRACE)
    call, _ = service.begin(receiving())
    assert call.ended is None


def test_a_change_of_what_is_not_there(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    fields = got.system_properties.receipt_handle.split(" ")
    fields[7] = "99"
    got.system_properties.receipt_handle = " ".join(fields)
    assert service.ask(changing(got, 3)).status.code == v2.Code.INTERNAL_SERVER_ERROR


def test_a_dead_letter_does_not_come_again(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    answer = service.ask(forwarding(got.system_properties.receipt_handle))
    assert answer.status.code == v2.Code.OK
    (dead,) = service.memory.stored("%DLQ%G")
    assert (dead.body, dead.properties["RETRY_TOPIC"]) == (b"a", "T")
    service.pass_time(30_000)
    call, _ = service.begin(receiving())
    assert call.ended is None


def test_a_handle_of_one_topic_buries_no_message_of_another(service: Service) -> None:
    service.topic("Secret")
    service.send(b"secret", "Secret")
    service.send(b"a")
    (got,) = service.receive()
    forged = got.system_properties.receipt_handle.rpartition(" ")[0] + " 0"
    assert service.ask(forwarding(forged)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    assert not service.memory.stored("%DLQ%G")


def test_forged_handles_are_refused_where_they_are_signed() -> None:
    service = Service(options={"receipt_handle_key": "secret"})
    service.consumer()
    service.send(b"a")
    got = service.receive()
    right = got[0].system_properties.receipt_handle
    got[0].system_properties.receipt_handle = right.replace(" 20000 ", " 20001 ")
    assert service.ask(acking(got)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    got[0].system_properties.receipt_handle = right
    assert service.ask(acking(got)).status.code == v2.Code.OK


def test_a_client_that_is_not_known_acknowledges_too(service: Service) -> None:
    service.send(b"a")
    got = service.receive()
    assert service.ask(acking(got), "another").status.code == v2.Code.OK


def test_an_acknowledgement_by_the_wrong_group_changes_nothing(service: Service) -> None:
    service.send(b"a")
    got = service.receive()
    service.ask(acking(got, "H"))
    service.pass_time(30_000)
    assert [one.body for one in service.receive()] == [b"a"]


def test_replaced_handle_is_refused_by_every_method(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    service.ask(changing(got, 12))
    handle = got.system_properties.receipt_handle
    acked = service.ask(acking([got]))
    assert [entry.status.code for entry in acked.entries] == [v2.Code.INVALID_RECEIPT_HANDLE]
    assert service.ask(changing(got, 12)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    assert service.ask(forwarding(handle)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    assert not service.memory.stored("%DLQ%G")


def test_acknowledged_message_becomes_no_dead_letter_and_does_not_come_again(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    assert service.ask(acking([got])).status.code == v2.Code.OK
    assert service.ask(acking([got])).status.code == v2.Code.OK
    assert service.ask(changing(got, 1)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    handle = got.system_properties.receipt_handle
    assert service.ask(forwarding(handle)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    assert not service.memory.stored("%DLQ%G")
    service.pass_time(30_000)
    call, _ = service.begin(receiving())
    assert call.ended is None


def test_expired_handle_makes_no_dead_letter(service: Service) -> None:
    service.send(b"a")
    (got,) = service.receive()
    service.pass_time(20_000)
    handle = got.system_properties.receipt_handle
    assert service.ask(forwarding(handle)).status.code == v2.Code.INVALID_RECEIPT_HANDLE
    assert not service.memory.stored("%DLQ%G")
