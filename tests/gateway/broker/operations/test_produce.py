"""Sends through operations: what is stored, mapped and refused."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import PROPERTY_KEYS, PROPERTY_TAGS, PROPERTY_UNIQ_KEY
from mqgateway.engine.store.results import PutStatus
from mqgateway.gateway.broker.operations import (
    NewMessage,
    OperationError,
    Operations,
    Reason,
    SendOutcome,
    Use,
)
from mqgateway.gateway.broker.operations.gate import Permit
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.broker.helpers import MemoryBroker, send_header
from tests.support.gateway.broker.operating import InlineRunner, principal
from tests.support.gateway.broker.producing import outcome_of

BORN = 1_699_999_999_000


class Scene:
    """Operations of a broker with topic T, outside of a turn."""

    def __init__(self, memory: MemoryBroker | None = None, **options: object) -> None:
        self.memory = memory or MemoryBroker(options=options)
        self.memory.add_topic("T", queues=1)
        self.operations = Operations(self.memory.broker, InlineRunner(self.memory))

    def permit(self, use: Use = Use.SEND) -> Permit:
        return self.operations.gate.admit(principal(self.memory.producer), use)

    def send(self, message: NewMessage) -> SendOutcome:
        """Send one, which is stored at once."""
        return outcome_of(self.operations.produce.send(self.permit(), message))


def test_sent_message_is_readable_at_once() -> None:
    scene = Scene()
    outcome = scene.send(NewMessage("T", b"x", BORN, {PROPERTY_KEYS: "k", PROPERTY_TAGS: "a"}, flag=3))
    assert (outcome.status, outcome.queue_id, outcome.queue_offset) == (PutStatus.PUT_OK, 0, 0)
    (stored,) = scene.memory.stored("T")
    assert (stored.body, stored.born_timestamp, stored.flag) == (b"x", BORN, 3)
    assert (stored.properties[PROPERTY_KEYS], stored.properties[PROPERTY_TAGS]) == ("k", "a")
    assert stored.properties[PROPERTY_UNIQ_KEY] == outcome.transaction_id


def test_typed_message_is_stored_as_the_same_remoting_request_is() -> None:
    typed, remoting = Scene(), Scene()
    properties = {PROPERTY_UNIQ_KEY: "K1", PROPERTY_KEYS: "k", "empty": "", "": "nameless"}
    typed.send(NewMessage("T", b"x", BORN, properties, producer_group="PG"))
    header = send_header("T", properties)
    remoting.memory.ask(RequestCode.SEND_MESSAGE_V2, header, b"x", peer=remoting.memory.producer)
    (mine,), (theirs,) = typed.memory.stored("T"), remoting.memory.stored("T")
    assert list(mine.properties.items()) == list(theirs.properties.items())
    assert (mine.body, mine.sys_flag, mine.born_host) == (theirs.body, theirs.sys_flag, theirs.born_host)


def test_properties_of_the_caller_are_not_changed() -> None:
    properties = {PROPERTY_KEYS: "k"}
    Scene().send(NewMessage("T", b"x", BORN, properties))
    assert properties == {PROPERTY_KEYS: "k"}


@pytest.mark.parametrize("properties", [{"a": "b\x02TRAN_MSG\x01true"}, {"a\x01b": "c"}])
def test_property_that_would_be_several_is_refused(properties: dict[str, str]) -> None:
    scene = Scene()
    with pytest.raises(OperationError, match="U\\+0001") as refused:
        scene.send(NewMessage("T", b"x", BORN, properties))
    assert refused.value.reason is Reason.MESSAGE_ILLEGAL
    assert not scene.memory.stored("T")


def test_send_to_an_unknown_topic_is_refused() -> None:
    scene = Scene()
    with pytest.raises(OperationError) as refused:
        scene.send(NewMessage("Gone", b"x", BORN))
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST
    assert "Gone" not in scene.memory.broker.tables.topics


@pytest.mark.parametrize("count", [3, 200])
def test_batch_is_stored_in_one_queue_in_order(count: int) -> None:
    scene = Scene()
    bodies = [bytes([number]) * 1000 for number in range(count)]
    messages = [
        NewMessage("T", body, BORN, {PROPERTY_UNIQ_KEY: f"K{number}"}) for number, body in enumerate(bodies)
    ]
    sent: list[SendOutcome] = []
    outcome = scene.operations.produce.send_batch(scene.permit(), messages)
    if isinstance(outcome, SendOutcome):
        sent.append(outcome)
    else:
        outcome.addCallback(sent.append)
    scene.memory.broker.store.dispatch()
    assert [one.status for one in sent] == [PutStatus.PUT_OK]
    assert scene.memory.broker.store.max_offset("T", 0) == count
    assert [message.body for message in scene.memory.stored("T")] == bodies[:32]


def test_batch_with_too_long_properties_is_refused() -> None:
    scene = Scene()
    messages = [NewMessage("T", b"x", BORN), NewMessage("T", b"x", BORN, {"a": "b" * 40_000})]
    with pytest.raises(OperationError) as refused:
        scene.operations.produce.send_batch(scene.permit(), messages)
    assert refused.value.reason is Reason.PROPERTIES_TOO_LARGE


@pytest.mark.parametrize("is_batch", [False, True])
def test_send_to_a_static_topic_is_mapped(is_batch: bool) -> None:
    brokers = Cluster("a", "b")
    brokers.create("a")
    brokers.move(0, "b")
    brokers.move(0, "a")
    scene = Scene(brokers["a"])
    message = NewMessage(TOPIC, b"x", BORN, {PROPERTY_UNIQ_KEY: "K"}, queue_id=-1 if is_batch else 0)
    produce = scene.operations.produce
    sent = (
        produce.send_batch(scene.permit(), [message] * 2)
        if is_batch
        else produce.send(scene.permit(), message)
    )
    outcome = outcome_of(sent)
    assert (outcome.queue_id, outcome.queue_offset) == (0, 2 * BLOCK)
    assert len(brokers["a"].stored(TOPIC, 1)) == 1 + is_batch


def test_timer_is_recalled() -> None:
    scene = Scene(recall_message_enable=True)
    due = str(scene.memory.clock.millis() + 60_000)
    sent = scene.send(NewMessage("T", b"x", BORN, {PROPERTY_UNIQ_KEY: "K", "TIMER_DELIVER_MS": due}))
    assert sent.recall_handle is not None
    recalled = scene.operations.produce.recall(scene.permit(Use.RECALL), "T", sent.recall_handle)
    assert outcome_of(recalled).message_id == "K"
