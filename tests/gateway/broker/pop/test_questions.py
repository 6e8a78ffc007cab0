"""PEEK, NOTIFICATION and POLLING_INFO: what they tell, and that they take nothing."""

import pytest

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    NotificationRequestHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
)
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker


@pytest.fixture
def broker() -> PopBroker:
    return PopBroker()


def send(broker: PopBroker, body: bytes = b"a", queue_id: int = 0, **properties: str) -> None:
    broker.send("T", body, queue_id=queue_id, properties={"UNIQ_KEY": body.decode(), **properties})


def has_message(broker: PopBroker, **fields: object) -> bool:
    return broker.notify(**fields).ext["hasMsg"] == "true"


def test_peek_delivers_nothing(broker: PopBroker) -> None:
    send(broker, b"a")
    send(broker, b"b", 1)
    for _ in range(2):
        answer = broker.peek()
        assert (answer.code, answer.remark, answer.ext["restNum"]) == (0, "FOUND", "2")
        assert sorted(message.body for message in answer.messages) == [b"a", b"b"]
    assert len(broker.peek(max_msg_nums=1).messages) == 1
    assert [message.body for message in broker.peek(queue_id=1).messages] == [b"b"]
    assert len(broker.pop()) == 2


def test_peek_returns_messages_not_in_flight(broker: PopBroker) -> None:
    send(broker)
    broker.pop()
    answer = broker.peek()
    assert (answer.code, answer.remark) == (ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")
    broker.pass_time(INVISIBLE + GRACE)
    assert [message.body for message in broker.peek().messages] == [b"a"]
    send(broker, b"b")
    broker.chance = 0
    assert [message.body for message in broker.peek().messages] == [b"a", b"b"]
    broker.chance = 1
    assert [message.body for message in broker.peek().messages] == [b"b", b"a"]


def test_notification_reports_messages(broker: PopBroker) -> None:
    assert not has_message(broker)
    send(broker, queue_id=1)
    assert has_message(broker)
    assert has_message(broker, queue_id=1)
    assert not has_message(broker, queue_id=0)
    broker.pop()
    assert not has_message(broker)
    broker.pass_time(INVISIBLE + GRACE)
    assert has_message(broker)
    broker.options.enable_retry_topic_v2 = True
    assert has_message(broker)
    broker.options.retrieve_message_from_pop_retry_topic_v1 = False
    assert not has_message(broker)


def test_notification_ignores_filtered_messages(broker: PopBroker) -> None:
    send(broker, TAGS="x")
    assert not has_message(broker, exp="y", exp_type="TAG")
    assert has_message(broker, exp="x", exp_type="TAG")
    assert has_message(broker, exp="y")
    broker.options.max_message_filter_num_for_notification = 1
    assert has_message(broker, exp="y", exp_type="TAG")
    broker.options.max_message_filter_num_for_notification = 64
    broker.options.use_message_filter_for_notification = False
    assert has_message(broker, exp="y", exp_type="TAG")


def test_a_bad_expression_is_refused(broker: PopBroker) -> None:
    assert broker.notify(exp="a >", exp_type="SQL92").code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


def test_a_notification_waits(broker: PopBroker) -> None:
    waiting = broker.notify(poll_time=15_000)
    assert waiting.waits
    send(broker)
    assert waiting.ext == {"hasMsg": "true", "pollingFull": "false"}


def test_notification_is_answered_at_its_deadline(broker: PopBroker) -> None:
    waiting = broker.notify(poll_time=1000, born_time=0)
    broker.pass_time(1000)
    assert waiting.ext["hasMsg"] == "false"


def test_message_wakes_the_newest_notification(broker: PopBroker) -> None:
    waiting = [broker.notify(poll_time=15_000) for _ in range(3)]
    send(broker)
    assert [answer.waits for answer in waiting] == [True, True, False]


def test_parked_notifications_are_limited(broker: PopBroker) -> None:
    broker.options.pop_polling_size = 1
    broker.notify(poll_time=15_000)
    assert broker.notify(poll_time=15_000).ext == {"hasMsg": "false", "pollingFull": "true"}


def test_blocked_queue_has_no_messages(broker: PopBroker) -> None:
    send(broker, b"a")
    send(broker, b"b")
    (one,) = broker.pop(order=True, max_msg_nums=1, attempt_id="1")
    assert not has_message(broker, order=True)
    assert has_message(broker, order=True, attempt_id="1")
    waiting = broker.notify(order=True, poll_time=15_000)
    broker.ack(one)
    assert waiting.ext["hasMsg"] == "true"


def test_parked_pops_are_counted(broker: PopBroker) -> None:
    broker.ask_pop(poll_time=15_000)
    broker.ask_pop(poll_time=15_000, queue_id=1)
    broker.notify(poll_time=15_000)
    assert (broker.waiting(), broker.waiting(1), broker.waiting(0)) == (1, 1, 0)


def test_rollback_is_a_no_op(broker: PopBroker) -> None:
    assert broker.ask(RequestCode.POP_ROLLBACK).code == 0


@pytest.mark.parametrize("code", ["PEEK_MESSAGE", "NOTIFICATION", "POLLING_INFO"])
def test_invalid_query_is_refused(broker: PopBroker, code: str) -> None:
    def ask(topic: str = "T", group: str = "G", queue_id: int = 0) -> tuple[int, str]:
        common = {"consumer_group": group, "topic": topic, "queue_id": queue_id}
        header = {
            "PEEK_MESSAGE": lambda: PeekMessageRequestHeader(**common, max_msg_nums=1),
            "NOTIFICATION": lambda: NotificationRequestHeader(**common, poll_time=0),
            "POLLING_INFO": lambda: PollingInfoRequestHeader(**common),
        }[code]()
        answer = broker.ask(RequestCode[code], header)
        return answer.code, answer.remark or ""

    assert ask("U")[0] == ResponseCode.TOPIC_NOT_EXIST
    assert ask(queue_id=4)[0] == ResponseCode.INVALID_PARAMETER
    assert ask(group="a b")[0] == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    broker.broker.tables.groups.find("G")
    broker.broker.tables.groups.disable_consume("G")
    assert ask() == (16, "subscription group no permission, G")
    broker.add_topic("W", perm=2)
    assert ask("W") == (16, "the topic[W] peeking message is forbidden")
    broker.options.broker_permission = 2
    assert ask() == (16, "the broker[127.0.0.1] peeking message is forbidden")
