"""EndTransaction: ends of transactions at any time, and checks with producers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from mqgateway.gateway.broker.operations import HalfPlace
from mqgateway.gateway.broker.transactions.checks import check_back, is_reachable
from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import ID, Service

COMMIT, ROLLBACK = v2.TransactionResolution.COMMIT, v2.TransactionResolution.ROLLBACK
KIND = v2.MessageType.TRANSACTION


def service(**options: Any) -> Service:
    """With a topic of transactions, its producer, and one open transaction."""
    made = Service(options=options, store_options={"message_index_enable": True})
    made.broker.transactions.load()
    made.topic("X", "TRANSACTION", queues=1)
    made.producer("X")
    entry = made.send(b"a", "X", message_type=KIND, born_timestamp=None)
    assert entry.transaction_id == ID
    return made


def end(made: Service, resolution: v2.TransactionResolution, key: str = ID, **fields: Any) -> Any:
    """The answer to an end."""
    request = v2.EndTransactionRequest(
        topic=v2.Resource(name="X"), transaction_id=key, message_id=key, resolution=resolution, **fields
    )
    answer = made.ask(request)
    made.broker.store.dispatch()
    return answer.status.code


def bodies(made: Service) -> list[bytes]:
    """Return the bodies that consumers of the topic see."""
    return [one.body for one in made.memory.stored("X")]


def checked(made: Service) -> int:
    """Check open transactions with the producers; return the number of checks."""
    clients, questions = made.broker.clients, 0
    for _ in range(33):
        made.memory.clock.advance(1000)
        now = made.broker.store.steady.now()
        checks = made.broker.transactions.tick(now, partial(is_reachable, clients))
        check_back(made.broker, checks)
        made.broker.store.dispatch()
        questions += len(checks)
    return questions


@pytest.mark.parametrize("resolution,seen", [(COMMIT, [b"a"]), (ROLLBACK, []), (0, [])])
def test_end_of_a_transaction(resolution: v2.TransactionResolution, seen: list[bytes]) -> None:
    made = service()
    assert bodies(made) == []
    assert end(made, resolution) == v2.Code.OK
    assert bodies(made) == seen


def test_an_end_is_taken_after_any_time_and_a_restart() -> None:
    """The position in memory is lost, and found by the index."""
    made = service()
    made.memory.clock.advance(3_600_000)
    made.service.transactions._places.clear()
    assert end(made, COMMIT) == v2.Code.OK
    assert bodies(made) == [b"a"]


def test_an_end_of_what_was_ended() -> None:
    made = service()
    end(made, COMMIT)
    assert end(made, COMMIT) == v2.Code.OK
    assert bodies(made) == [b"a"]


def test_an_end_of_nothing() -> None:
    made = service()
    assert end(made, COMMIT, "another") == v2.Code.INTERNAL_SERVER_ERROR


def test_the_producer_is_asked_and_answers() -> None:
    made = service()
    stream = made.producer("X")
    assert checked(made) == 1
    command = stream.heard[-1].recover_orphaned_transaction_command
    assert (command.transaction_id, command.message.body) == (ID, b"a")
    assert command.message.topic.name == "X"
    assert dict(command.message.user_properties) == {}
    assert not command.message.system_properties.HasField("receipt_handle")
    assert end(made, COMMIT, source=v2.TransactionSource.SOURCE_SERVER_CHECK) == v2.Code.OK
    assert bodies(made) == [b"a"]
    assert checked(made) == 0


def test_an_answer_whose_place_is_not_kept() -> None:
    made = service(max_remembered_transactions=1)
    assert checked(made) == 1
    made.send(b"b", "X", message_type=KIND, message_id="K2", born_timestamp=None)
    assert len(made.service.transactions) == 1
    assert end(made, COMMIT) == v2.Code.OK
    assert bodies(made) == [b"a"]


def test_client_without_a_stream_gets_no_check() -> None:
    made = service()
    session = made.service.sessions.known("c1")
    assert is_reachable(made.broker.clients, "X", "X")
    assert session._stream is not None
    session._stream.call.leave()  # type: ignore[attr-defined]
    assert not is_reachable(made.broker.clients, "X", "X")
    assert checked(made) == 0


def test_transaction_of_another_topic_is_not_ended() -> None:
    """Its producer group may have the name of the topic that the caller may send to."""
    made = service()
    made.topic("Y", "TRANSACTION", queues=1)
    properties = {"TRAN_MSG": "true", "PGROUP": "Y", "UNIQ_KEY": "K2"}
    half = made.memory.send("X", b"other", properties=properties, sys_flag=4, queue_id=0)
    place = HalfPlace(int(half.ext["queueOffset"]), int(half.ext["msgId"][-16:], 16))
    made.service.transactions._places["K2"] = place
    request = v2.EndTransactionRequest(topic=v2.Resource(name="Y"), transaction_id="K2", resolution=COMMIT)
    assert made.ask(request).status.code == v2.Code.INTERNAL_SERVER_ERROR
    made.broker.store.dispatch()
    assert bodies(made) == []
