"""ReceiveMessage: deliveries, waits, and messages that are acknowledged or dead-lettered on the way."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import (
    LITE_STORE,
    FakeCall,
    Service,
    acking,
    messages_in,
    receiving,
)

TAG = v2.FilterType.TAG


@pytest.fixture
def service() -> Service:
    """With a consumer of group G."""
    made = Service()
    made.consumer()
    return made


def test_a_receive_waits_for_what_is_sent_next(service: Service) -> None:
    call, answers = service.begin(receiving())
    assert call.ended is None and not answers
    service.send(b"a")
    assert [one.body for one in messages_in(answers)] == [b"a"]
    assert call.ended is not None


def test_a_receive_waits_as_long_as_it_says(service: Service) -> None:
    call, answers = service.begin(receiving())
    service.pass_time(4000)
    assert call.ended is None
    service.pass_time(1500)
    assert [answer.WhichOneof("content") for answer in answers] == ["status", "delivery_timestamp"]
    assert answers[0].status.code == v2.Code.MESSAGE_NOT_FOUND


def test_a_client_that_leaves_waits_no_more(service: Service) -> None:
    call, _ = service.begin(receiving())
    assert len(service.broker.pop.parked) == 1
    call.leave()
    assert not len(service.broker.pop.parked)
    service.send(b"a")
    assert [one.body for one in service.receive()] == [b"a"]


@pytest.mark.parametrize(
    "left,asked,version,code",
    [
        (30.0, None, "5.2.0", None),
        (6.0, 20, "5.2.0", None),
        (None, None, "5.2.0", None),
        (4.0, 20, "5.2.0", v2.Code.ILLEGAL_POLLING_TIME),
        (4.0, 20, "5.0.1", v2.Code.BAD_REQUEST),
        (4.0, 20, "", v2.Code.BAD_REQUEST),
    ],
)
def test_the_deadline_of_a_receive(
    service: Service, left: float | None, asked: int | None, version: str, code: v2.Code | None
) -> None:
    poll = None if asked is None else v2.Duration(seconds=asked)
    request = receiving(long_polling_timeout=poll)
    call = service_call(service, request, left, version)
    if code is None:
        assert call.ended is None
    else:
        assert call.sent[0].status.code == code


def service_call(service: Service, request: Any, left: float | None, version: str) -> Any:
    """A receive with a deadline."""
    call = FakeCall("ReceiveMessage", "c1", **{"x-mq-client-version": version})
    call.left = left
    service.methods[call.path].answer(request, call)  # type: ignore[union-attr]
    return call


def test_no_more_than_is_asked_for(service: Service) -> None:
    for number in range(5):
        service.send(b"%d" % number)
    assert len(service.receive(batch_size=2)) <= 2


def test_only_what_has_the_tag(service: Service) -> None:
    service.send(b"a", tag="a")
    service.send(b"b", tag="b")
    wanted = v2.FilterExpression(type=TAG, expression="b || c")
    assert [one.body for one in service.receive(filter_expression=wanted)] == [b"b"]


def test_a_tag_with_the_same_hash_counts_as_consumed(service: Service) -> None:
    """`Aa` and `BB` have one in Java."""
    service.send(b"a", tag="Aa")
    wanted = v2.FilterExpression(type=TAG, expression="BB")
    _, answers = service.begin(receiving(filter_expression=wanted))
    assert answers[0].status.message == "no match message"
    service.pass_time(25_000)
    call, _ = service.begin(receiving(filter_expression=v2.FilterExpression(expression="*")))
    assert call.ended is None, "it does not come again"


def test_only_what_an_expression_lets_pass(service: Service) -> None:
    service.send(b"a", user={"n": "1"})
    service.send(b"b", user={"n": "7"})
    wanted = v2.FilterExpression(type=v2.FilterType.SQL, expression="n > 5")
    assert [one.body for one in service.receive(filter_expression=wanted)] == [b"b"]


def test_unacknowledged_message_is_redelivered_until_it_is_dead_lettered(service: Service) -> None:
    service.group("G", retry_max_times=1)
    service.send(b"a")
    attempts = []
    for _ in range(2):
        (one,) = service.receive()
        attempts.append(one.system_properties.delivery_attempt)
        service.pass_time(25_000)
    assert attempts == [1, 2]
    _, answers = service.begin(receiving())
    assert answers[0].status.message == "no match message"
    service.broker.store.dispatch()
    (dead,) = service.memory.stored("%DLQ%G")
    assert dead.body == b"a"


def test_in_order_nothing_is_delivered_behind_what_is_out(service: Service) -> None:
    service.group("G", consume_message_orderly=True)
    service.topic("F", "FIFO")
    for number in range(3):
        service.send(b"%d" % number, "F", message_group="g")
    first = service.receive(topic="F", batch_size=1, attempt_id="one")
    assert [one.body for one in first] == [b"0"]
    call, _ = service.begin(receiving(topic="F"))
    assert call.ended is None
    call.leave()
    again = service.receive(topic="F", batch_size=1, attempt_id="one")
    assert [one.body for one in again] == [b"0"], "the same attempt gets the same"
    service.pass_time(25_000)
    again = service.receive(topic="F", batch_size=1)
    assert [one.system_properties.delivery_attempt for one in again] == [2]
    assert service.ask(acking(again, topic="F")).status.code == v2.Code.OK
    assert [one.body for one in service.receive(topic="F", batch_size=1)] == [b"1"]


def test_message_of_a_retry_topic_is_delivered_under_the_topic(service: Service) -> None:
    service.send(b"a")
    service.receive()
    service.pass_time(25_000)
    (again,) = service.receive()
    handle = again.system_properties.receipt_handle.split(" ")
    assert (again.topic.name, handle[4], handle[6]) == ("T", "1", "0")
    assert service.ask(acking([again])).status.code == v2.Code.OK
    service.pass_time(25_000)
    call, _ = service.begin(receiving())
    assert call.ended is None


def test_too_many_wait() -> None:
    service = Service(options={"max_pop_polling_size": 1})
    service.consumer()
    service.begin(receiving())
    _, answers = service.begin(receiving())
    assert (answers[0].status.code, answers[0].status.message) == (
        v2.Code.TOO_MANY_REQUESTS,
        "polling full",
    )


def test_a_topic_that_is_not_read(service: Service) -> None:
    service.topic("W", perm=2)
    (refused, _) = service.ask(receiving(topic="W"))
    assert refused.status.code == v2.Code.FORBIDDEN


def test_messages_over_both_protocols(service: Service) -> None:
    """gRPC producers and remoting consumers, and the other way round."""
    service.send(b"a", tag="x")
    (got,) = service.memory.pop(consumer_group="G2")
    assert got.stored.properties["TAGS"] == "x" and got.stored.body == b"a"
    service.memory.send(body=b"b", properties={"UNIQ_KEY": "K"})
    assert {one.body for one in service.receive(group="G3")} == {b"a", b"b"}


def lite_service() -> Service:
    """With a lite consumer of group R, which reads room1 of chat."""
    service = Service(store_options=LITE_STORE)
    service.topic("chat", "LITE")
    service.group("R", attributes={"lite.bind.topic": "chat"})
    service.consumer("R", "chat", v2.ClientType.LITE_PUSH_CONSUMER)
    answer = service.ask(
        v2.SyncLiteSubscriptionRequest(
            topic=v2.Resource(name="chat"), group=v2.Resource(name="R"), lite_topic_set=["room1"]
        )
    )
    assert answer.status.code == v2.Code.OK
    return service


def test_messages_of_lite_topics() -> None:
    service = lite_service()
    call, answers = service.begin(receiving("R", "chat", auto_renew=True))
    assert call.ended is None
    service.send(b"a", "chat", lite_topic="room1")
    service.send(b"b", "chat", lite_topic="room2")
    (got,) = messages_in(answers)
    assert (got.body, got.system_properties.lite_topic) == (b"a", "room1")
    assert service.ask(acking([got], "R", "chat")).status.code == v2.Code.OK
    service.send(b"c", "chat", lite_topic="room1")
    assert [one.body for one in service.receive("R", "chat", auto_renew=True)] == [b"c"]


def test_a_lite_client_that_has_gone_or_does_not_acknowledge() -> None:
    service = lite_service()
    session = service.service.sessions.known("c1")
    service.broker.options.max_lite_renew_num_per_channel = 1
    for number in range(2):
        service.send(b"a", "chat", lite_topic="room1", message_id=f"K{number}")
    assert len(service.receive("R", "chat", auto_renew=True)) == 2
    assert service.ask(receiving("R", "chat"))[0].status.code == v2.Code.FORBIDDEN
    session.speak_by(type("Gone", (), {"is_open": False, "watch": lambda self: None})())
    assert service.ask(receiving("R", "chat"))[0].status.code == v2.Code.BAD_REQUEST


def after_a_restart() -> Service:
    """A service with a message for group G, of which it knows no consumer."""
    service = Service()
    service.group("G")
    service.send(b"a")
    return service


def test_client_without_settings_is_served_by_those_of_its_group() -> None:
    """Ordered messages one after another; they are renewed, and acknowledged by their handles."""
    service = Service()
    service.topic("F", "FIFO")
    service.group("G", consume_message_orderly=True)
    for body in (b"a", b"b"):
        service.send(body, "F", message_group="one")
    first = service.receive(topic="F", batch_size=1, auto_renew=True)
    assert [one.body for one in first] == [b"a"]
    waiting, answers = service.begin(receiving(topic="F", batch_size=1))
    assert waiting.ended is None and len(service.service.acknowledger.renewals) == 1
    assert service.ask(acking(first, topic="F")).status.code == v2.Code.OK
    service.pass_time(1000)
    assert [one.body for one in messages_in(answers)] == [b"b"]
    assert not len(service.service.acknowledger.renewals)


def test_client_without_settings_is_unknown_to_other_methods() -> None:
    service = after_a_restart()
    service.receive(auto_renew=True)
    heartbeat = v2.HeartbeatRequest(group=v2.Resource(name="G"))
    assert service.ask(heartbeat).status.code == v2.Code.UNRECOGNIZED_CLIENT_TYPE
    assert service.broker.clients.consumer_group("G") is None
    assert service.ask(v2.NotifyClientTerminationRequest()).status.code == v2.Code.UNRECOGNIZED_CLIENT_TYPE
    assert not len(service.service.sessions) and not len(service.service.acknowledger.renewals)


def test_settings_that_come_later_are_those_that_count() -> None:
    service = after_a_restart()
    received = service.receive(auto_renew=True)
    service.consumer()
    assert len(service.service.sessions) == 1 and service.service.sessions.known("c1").group == "G"
    heartbeat = v2.HeartbeatRequest(group=v2.Resource(name="G"))
    assert service.ask(heartbeat).status.code == v2.Code.OK
    assert service.ask(acking(received)).status.code == v2.Code.OK
    assert not len(service.service.acknowledger.renewals)


def test_client_without_settings_waits_less_long_than_its_call() -> None:
    service = after_a_restart()
    service.receive()
    call = service_call(service, receiving(long_polling_timeout=None), 10.0, "5.2.0")
    service.pass_time(8000)
    assert call.ended is None
    service.pass_time(1000)
    assert call.sent[0].status.code == v2.Code.MESSAGE_NOT_FOUND


def test_readers_of_lite_topics_say_their_settings_first() -> None:
    service = Service(store_options=LITE_STORE)
    service.topic("chat", "LITE")
    service.group("R", attributes={"lite.bind.topic": "chat"})
    (refused, _) = service.ask(receiving("R", "chat"))
    assert refused.status.code == v2.Code.UNRECOGNIZED_CLIENT_TYPE
