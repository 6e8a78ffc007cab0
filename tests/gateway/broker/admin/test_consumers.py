"""Connected clients, and requests to them through their front end."""

from collections.abc import Mapping

import pytest
from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.admin import consumers
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.clients.outgoing import (
    UNREACHABLE,
    ClientAnswer,
    DirectConsumption,
    NotAnswered,
    OffsetReset,
    Outgoing,
    PushedReply,
)
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import ConsumerData, MessageQueue
from tests.support.gateway.broker.admin import AdminBroker, consumer
from tests.support.gateway.broker.helpers import FakePeer

QUEUE = MessageQueue("T", "broker-a", 0)
DONE = ClientAnswer(0, b"done", None, {})


class Notifications:
    """A client of any protocol that keeps its notifications, and answers when the test does."""

    is_open = True

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.answer: Deferred[ClientAnswer] = Deferred()

    def members_changed(self, group: str) -> None:
        self.heard.append(group)

    def reset_offsets(self, reset: OffsetReset) -> None:
        self.heard.append(reset)

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        return succeed({QUEUE: 5})

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        self.heard.append((group, client_id, jstack, fields))
        return self.answer

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        raise AssertionError

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        raise AssertionError

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        self.heard.append(message)
        return self.answer


@pytest.fixture
def memory() -> AdminBroker:
    return AdminBroker()


def join(memory: AdminBroker, outgoing: Outgoing, client_id: str = "me", port: int = 1) -> None:
    data: ConsumerData = consumer("g", "T")
    client = GroupClient(FakePeer(f"10.0.0.1:{port}"), client_id, "JAVA", 513, outgoing)
    memory.broker.clients.register_consumer(data, client)


def failure(asked: Deferred[ClientAnswer]) -> OperationError:
    failed: list[OperationError] = []
    asked.addErrback(lambda one: failed.append(one.value))
    return failed[0]


def test_connected_clients_of_groups(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        consumers.consumer_group(memory.broker, "g")
    assert refused.value.reason is Reason.CONSUMER_NOT_ONLINE
    join(memory, Notifications())
    group = consumers.consumer_group(memory.broker, "g")
    assert [client.client_id for client in group.clients.values()] == ["me"]
    found = consumers.subscription_of_consumer(memory.broker, "g", "T")
    assert found is not None and found.sub_string == "*"
    assert consumers.all_producers(memory.broker) == {}
    with pytest.raises(OperationError) as none:
        consumers.producers(memory.broker, "p")
    assert none.value.reason is Reason.SYSTEM_ERROR


def test_running_info_is_requested(memory: AdminBroker) -> None:
    client = Notifications()
    join(memory, client)
    answers: list[ClientAnswer] = []
    consumers.running_info(memory.broker, "g", "me", jstack=True, fields={"x": "1"}).addCallback(
        answers.append
    )
    assert client.heard == [("g", "me", True, {"x": "1"})] and answers == []
    client.answer.callback(DONE)
    assert answers == [DONE]


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (NotAnswered("late", is_late=True), Reason.CONSUME_MSG_TIMEOUT, "consumer <g> <me> Timeout: late"),
        (NotAnswered("gone"), Reason.SYSTEM_ERROR, "invoke consumer <g> <me> Exception: gone"),
    ],
)
def test_client_without_an_answer_is_named(
    memory: AdminBroker, error: NotAnswered, reason: Reason, message: str
) -> None:
    client = Notifications()
    join(memory, client)
    asked = consumers.running_info(memory.broker, "g", "me")
    client.answer.errback(error)
    refused = failure(asked)
    assert (refused.reason, refused.message) == (reason, message)


def test_message_is_consumed_directly_with_its_topics_flags(memory: AdminBroker) -> None:
    memory.add_topic("T", topic_sys_flag=1)
    message_id = memory.send("T", body=b"again").ext["msgId"]
    client = Notifications()
    join(memory, client)
    consumers.consume_directly(memory.broker, "g", "me", "T", message_id, may_use=None)
    (message,) = client.heard
    assert isinstance(message, DirectConsumption)
    assert (message.topic_sys_flag, message.group_sys_flag, message.broker_name) == (1, 0, "broker-a")
    assert b"again" in message.record
    with pytest.raises(OperationError) as refused:
        consumers.consume_directly(memory.broker, "g", "nobody", "T", message_id, may_use=None)
    assert refused.value.message == "The Consumer <g> <nobody> not online"


def test_offsets_of_members_without_those_that_do_not_answer(memory: AdminBroker) -> None:
    join(memory, Notifications(), "one", 1)
    join(memory, UNREACHABLE, "two", 2)
    found: list[dict[str, dict[MessageQueue, int]]] = []
    consumers.consumer_status(memory.broker, "g", "T").addCallback(found.append)
    consumers.consumer_status(memory.broker, "g", "T", "two").addCallback(found.append)
    assert found == [{"one": {QUEUE: 5}}, {}]
    with pytest.raises(OperationError) as refused:
        consumers.consumer_status(memory.broker, "h", "T")
    assert refused.value.reason is Reason.SYSTEM_ERROR


def test_topics_in_which_a_group_has_offsets(memory: AdminBroker) -> None:
    memory.broker.tables.offsets.commit("g", "T", 0, 1)
    assert consumers.topics_of_consumer(memory.broker, "g") == {"T"}
