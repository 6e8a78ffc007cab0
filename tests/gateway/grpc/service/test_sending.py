"""SendMessage and RecallMessage: queues of messages, answers, recalls."""

from __future__ import annotations

import gzip

import pytest

from mqgateway.engine.lite.names import bucket
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import ID, LITE_STORE, Service, message


def found(service: Service, topic: str, queues: int = 4) -> list[tuple[int, bytes]]:
    """Queue and body of all messages of a topic."""
    service.broker.store.dispatch()
    return [(queue, one.body) for queue in range(queues) for one in service.memory.stored(topic, queue)]


def test_messages_of_a_group_lie_in_one_queue_in_their_order() -> None:
    service = Service()
    service.topic("F", "FIFO", queues=8)
    for number in range(5):
        service.send(b"%d" % number, "F", message_group="orders")
    queue = bucket("orders", 8)
    assert found(service, "F", 8) == [(queue, b"%d" % number) for number in range(5)]


def test_several_messages_lie_together() -> None:
    service = Service()
    messages = [message(b"%d" % number, message_id=f"K{number}") for number in range(3)]
    answer = service.ask(v2.SendMessageRequest(messages=messages))
    (entry,) = answer.entries
    assert (answer.status.code, entry.message_id) == (v2.Code.OK, "K0,K1,K2")
    assert len({queue for queue, _ in found(service, "T")}) == 1
    assert [body for _, body in found(service, "T")] == [b"0", b"1", b"2"]


def test_a_large_batch_is_stored_in_steps() -> None:
    service = Service()
    messages = [message(bytes(2000), message_id=f"K{number}") for number in range(100)]
    _, answers = service.begin(v2.SendMessageRequest(messages=messages))
    assert not answers
    while not answers:
        service.turn()
    assert answers[0].status.code == v2.Code.OK
    assert len(found(service, "T")) == 32  # as many as one read gives


def test_a_message_with_a_priority_goes_to_its_queue() -> None:
    service = Service()
    service.topic("P", "PRIORITY")
    service.send(b"a", "P", priority=2)
    service.send(b"b", "P", priority=9)
    assert found(service, "P") == [(2, b"a"), (3, b"b")]


def test_a_message_of_a_lite_topic() -> None:
    service = Service(store_options=LITE_STORE)
    service.topic("chat", "LITE")
    service.send(b"a", "chat", lite_topic="room1")
    assert found(service, "chat") == [(bucket("room1", 4), b"a")]
    assert [one.body for one in service.memory.stored("%LMQ%$chat$room1", 0)] == [b"a"]


def test_a_topic_of_several_types_takes_them() -> None:
    service = Service()
    service.topic("M", "MIXED")
    service.send(b"a", "M")
    service.send(b"b", "M", message_group="g")


def test_a_delayed_message_is_taken_back() -> None:
    service = Service()
    service.topic("D", "DELAY")
    due = service.memory.clock.millis() // 1000 + 10
    entry = service.send(b"a", "D", delivery_timestamp=v2.Timestamp(seconds=due))
    assert RecallHandle.decode(entry.recall_handle).topic == "D"
    answer = service.ask(
        v2.RecallMessageRequest(topic=v2.Resource(name="D"), recall_handle=entry.recall_handle)
    )
    assert (answer.status.code, answer.message_id) == (v2.Code.OK, ID)
    service.pass_time(15_000)
    assert not found(service, "D")


def test_a_delayed_message_comes_when_it_is_due() -> None:
    service = Service()
    service.topic("D", "DELAY")
    due = service.memory.clock.millis() // 1000 + 10
    service.send(b"a", "D", delivery_timestamp=v2.Timestamp(seconds=due))
    service.pass_time(9_000)
    assert not found(service, "D")
    service.pass_time(3_000)
    assert [body for _, body in found(service, "D")] == [b"a"]


def test_a_compressed_body_is_whole_for_gRPC_clients() -> None:
    service = Service()
    service.consumer()
    service.send(gzip.compress(b"hello"), body_encoding=v2.Encoding.GZIP)
    (got,) = service.receive()
    assert (got.body, got.system_properties.body_encoding) == (b"hello", v2.Encoding.IDENTITY)


def test_a_topic_that_is_not_written_to() -> None:
    service = Service()
    service.topic("R", perm=4)
    answer = service.ask(v2.SendMessageRequest(messages=[message(topic="R")]))
    assert answer.status.code == v2.Code.FORBIDDEN
    assert answer.status.message.endswith("no writable queue")


def test_an_answer_that_waits_for_the_disk() -> None:
    service = Service(store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH})
    _, answers = service.begin(v2.SendMessageRequest(messages=[message()]))
    service.broker.store.tick()
    assert [answer.status.code for answer in answers] == [v2.Code.OK]


@pytest.mark.parametrize("checks", [True, False])
def test_checks_that_can_be_left_out(checks: bool) -> None:
    service = Service(
        options={
            "enable_topic_message_type_check": checks,
            "enable_message_body_empty_check": checks,
            "check_body_digest": checks,
        }
    )
    wrong = v2.Digest(type=v2.DigestType.MD5, checksum="00")
    for sent in (message(message_group="g"), message(b""), message(body_digest=wrong)):
        answer = service.ask(v2.SendMessageRequest(messages=[sent]))
        assert (answer.status.code == v2.Code.OK) is not checks
