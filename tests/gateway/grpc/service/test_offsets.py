"""PullMessage, UpdateOffset, GetOffset, QueryOffset."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import Service

G = v2.Resource(name="G")


@pytest.fixture
def service() -> Service:
    """With topic Q of one queue."""
    made = Service()
    made.topic("Q", queues=1)
    return made


def queue(number: int = 0, topic: str = "Q") -> v2.MessageQueue:
    return v2.MessageQueue(topic=v2.Resource(name=topic), id=number)


def pulling(offset: int = 0, seconds: int = 5, **fields: Any) -> v2.PullMessageRequest:
    usual: dict[str, Any] = {
        "group": G,
        "message_queue": queue(),
        "offset": offset,
        "batch_size": 32,
        "long_polling_timeout": v2.Duration(seconds=seconds),
    }
    return v2.PullMessageRequest(**usual | fields)


def test_messages_are_pulled_from_an_offset_on(service: Service) -> None:
    for number in range(3):
        service.send(b"%d" % number, "Q")
    first, *messages, last = service.ask(pulling(1))
    assert first.status.code == v2.Code.OK
    assert [one.message.body for one in messages] == [b"1", b"2"]
    assert not messages[0].message.system_properties.HasField("receipt_handle")
    assert last.next_offset == 3


def test_a_pull_waits(service: Service) -> None:
    call, answers = service.begin(pulling())
    assert call.ended is None
    service.send(b"a", "Q")
    assert answers[1].message.body == b"a"


def test_a_pull_waits_no_longer_than_it_says(service: Service) -> None:
    call, answers = service.begin(pulling())
    service.pass_time(6000)
    assert call.ended is not None
    assert answers[0].status.code == v2.Code.MESSAGE_NOT_FOUND


def test_a_client_that_leaves_waits_no_more(service: Service) -> None:
    call, _ = service.begin(pulling())
    assert len(service.broker.consume.held_pulls) == 1
    call.leave()
    assert not len(service.broker.consume.held_pulls)


def test_a_pull_from_behind_the_end(service: Service) -> None:
    first, last = service.ask(pulling(99))
    assert (first.status.code, last.next_offset) == (v2.Code.ILLEGAL_OFFSET, 0)


def test_only_what_has_the_tag(service: Service) -> None:
    for tag in ("Aa", "BB", "C"):
        service.send(tag.encode(), "Q", tag=tag)
    wanted = v2.FilterExpression(type=v2.FilterType.TAG, expression="BB")
    _, *messages, last = service.ask(pulling(filter_expression=wanted))
    assert [one.message.body for one in messages] == [b"BB"]
    assert last.next_offset == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"offset": -1},
        {"filter_expression": v2.FilterExpression(expression="||")},
        {"message_queue": queue(7)},
        {"message_queue": queue(0, "missing")},
    ],
)
def test_invalid_pull_is_refused(service: Service, fields: dict[str, Any]) -> None:
    (refused,) = service.ask(pulling(**fields))
    assert refused.status.code != v2.Code.OK


def test_group_commits_and_reads_its_offset(service: Service) -> None:
    asked = v2.GetOffsetRequest(group=G, message_queue=queue())
    assert service.ask(asked).status.code == v2.Code.OFFSET_NOT_FOUND
    update = v2.UpdateOffsetRequest(group=G, message_queue=queue(), offset=5)
    assert service.ask(update).status.code == v2.Code.OK
    assert service.ask(asked).offset == 5
    wrong = v2.UpdateOffsetRequest(group=G, message_queue=queue(), offset=-5)
    assert service.ask(wrong).status.code == v2.Code.ILLEGAL_OFFSET


def test_a_group_that_is_not_there_and_may_not_be_made() -> None:
    service = Service(options={"auto_create_subscription_group": False})
    update = v2.UpdateOffsetRequest(group=G, message_queue=queue(0, "T"), offset=5)
    assert service.ask(update).status.code == v2.Code.CONSUMER_GROUP_NOT_FOUND


def test_the_ends_of_a_queue_and_the_offset_of_a_time(service: Service) -> None:
    service.send(b"a", "Q")
    service.memory.clock.advance(10_000)
    service.send(b"b", "Q")
    ask = service.ask
    policy = v2.QueryOffsetPolicy
    now = service.memory.clock.millis()
    time = v2.Timestamp(seconds=(now - 5000) // 1000)
    assert ask(v2.QueryOffsetRequest(message_queue=queue())).offset == 0
    assert ask(v2.QueryOffsetRequest(message_queue=queue(), query_offset_policy=policy.END)).offset == 2
    by_time = v2.QueryOffsetRequest(
        message_queue=queue(), query_offset_policy=policy.TIMESTAMP, timestamp=time
    )
    assert ask(by_time).offset == 1
    by_time.ClearField("timestamp")
    assert ask(by_time).status.code == v2.Code.BAD_REQUEST
