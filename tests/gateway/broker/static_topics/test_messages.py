"""Sends to static topics and pulls from them, while their queues move."""

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.results import PutStatus
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.put import SendOutcome, Sent
from mqgateway.gateway.broker.static_topics.messages import send
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.broker.helpers import batch_body, send_header
from tests.support.gateway.broker.producing import later, new_message, outcome_of


def cluster(*leaders: str) -> Cluster:
    made = Cluster("a", "b", "c")
    made.create(*leaders or ("a",))
    return made


def put(brokers: Cluster, name: str, message: NewMessage) -> Sent | Steps[Sent]:
    """Call the operation like a front end."""
    member = brokers[name]
    return send(member.broker, message, member.producer, brokers.clock.millis())


@pytest.mark.parametrize("queue_id", [1, -1])
def test_outcome_of_a_send_is_mapped_to_the_queue(queue_id: int) -> None:
    brokers = cluster("b", "a")
    brokers.fill("a", b"0", queue_id=1)
    brokers.move(1, "b")
    brokers.move(1, "a")
    outcome = outcome_of(put(brokers, "a", new_message(TOPIC, queue_id=queue_id)))
    assert isinstance(outcome, SendOutcome)
    assert (outcome.status, outcome.transaction_id) == (PutStatus.PUT_OK, "K1")
    assert (outcome.queue_id, outcome.queue_offset) == (1, 2 * BLOCK)
    brokers["a"].broker.store.dispatch()
    assert [message.body for message in brokers["a"].stored(TOPIC, 1)] == [b"x"]
    with pytest.raises(OperationError) as refusal:
        put(brokers, "a", new_message(TOPIC, queue_id=0))
    assert refusal.value.reason is Reason.NOT_LEADER_FOR_QUEUE


def test_pending_outcome_is_mapped_to_the_queue() -> None:
    brokers = Cluster("a", "b", store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH})
    brokers.create("b", "a")
    request = new_message(TOPIC, queue_id=1, properties={"WAIT": "true"})
    arrived = later(put(brokers, "a", request))
    assert not arrived
    brokers["a"].broker.store.dispatch()
    [outcome] = arrived
    assert isinstance(outcome, SendOutcome)
    assert (outcome.status, outcome.queue_id, outcome.queue_offset) == (PutStatus.PUT_OK, 1, 0)


@pytest.mark.parametrize("code", [RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE])
@pytest.mark.parametrize("is_batch", [False, True])
def test_answer_differs_only_in_queue_and_offset(code: RequestCode, is_batch: bool) -> None:
    """Queue 2 of the topic is queue 1 of the broker; its second mapping item is queue 2."""
    body = batch_body((b"1", {"UNIQ_KEY": "A"}), (b"2", {"UNIQ_KEY": "B"})) if is_batch else b"x"
    answers = []
    for fields in ({"queue_id": 2}, {"queue_id": 2, "lo": False}):
        brokers = cluster("b", "a", "a")
        brokers.move(2, "b")
        brokers.move(2, "a")
        brokers["a"].send(TOPIC, queue_id=2, lo=False)
        header = send_header(TOPIC, batch=is_batch, **fields)
        answers.append(brokers["a"].ask(code, header, body, peer=brokers["a"].producer))
    static, plain = answers
    assert (static.code, static.remark, plain.code) == (0, None, 0)
    assert (plain.ext["queueId"], plain.ext["queueOffset"]) == ("2", "1")
    assert static.ext == plain.ext | {"queueOffset": str(2 * BLOCK + 1)}


def test_message_is_stored_in_the_brokers_queue() -> None:
    brokers = cluster("b", "a", "a")
    assert brokers.fill("a", b"x", b"y", queue_id=2) == [0, 1]
    assert [message.body for message in brokers["a"].stored(TOPIC, 1)] == [b"x", b"y"]
    assert brokers.read("a", queue_id=2) == [(0, b"x"), (1, b"y")]


def test_outcome_of_a_large_batch_is_mapped() -> None:
    brokers = cluster("b", "a", "a")
    body = batch_body(*[(bytes(100), {})] * 500)
    answer = brokers["a"].send(TOPIC, body, properties={}, queue_id=2, batch=True)
    assert (answer.code, answer.ext["queueId"], answer.ext["queueOffset"]) == (0, "2", "0")
    assert brokers["a"].broker.store.max_offset(TOPIC, 1) == 500


def test_broker_chooses_the_queue() -> None:
    brokers = cluster("b", "a")
    answer = brokers["a"].send(TOPIC, queue_id=-1)
    assert (answer.code, answer.ext["queueId"]) == (0, "1")
    assert brokers["c"].send(TOPIC, queue_id=-1).code == 501


@pytest.mark.parametrize("queue_id", [0, 7])
def test_a_queue_that_another_broker_leads_is_refused(queue_id: int) -> None:
    brokers = cluster("b", "a")
    sent, pulled = brokers["a"].send(TOPIC, queue_id=queue_id), brokers["a"].pull(TOPIC, queue_id=queue_id)
    assert (sent.code, sent.remark) == (
        501,
        f"static-{queue_id} does not exit in request process of current broker a",
    )
    assert (pulled.code, pulled.remark) == (
        501,
        f"static-{queue_id} cannot find mapping item in request process of current broker a",
    )


def test_messages_keep_their_order_when_the_queue_moves() -> None:
    brokers = cluster("a")
    expected = []
    for turn, name in enumerate(("a", "b", "c", "b", "a")):
        if turn:
            brokers.move(0, name)
        bodies = [b"%d" % (turn * 10 + one) for one in range(3)]
        offsets = brokers.fill(name, *bodies)
        assert offsets == [turn * BLOCK + one for one in range(3)]
        expected += list(zip(offsets, bodies, strict=True))
        assert brokers.read(name) == expected
        assert brokers.read(name, offset=1) == expected[1:]


def test_a_queue_may_be_on_one_broker_twice() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b")
    brokers.move(0, "a")
    brokers.fill("a", b"2")
    assert brokers.read("a") == [(0, b"1"), (2 * BLOCK, b"2")]


def test_read_ends_at_the_end_of_the_item() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1", b"2")
    brokers.move(0, "b", end=True)
    brokers["a"].send(TOPIC, b"too late", queue_id=0, lo=False)
    assert brokers.read("b") == [(0, b"1"), (1, b"2")]
    brokers.move(0, "a")
    brokers.asked.clear()
    answer = brokers["a"].pull(TOPIC, offset=2)
    assert (answer.code, answer.ext["nextBeginOffset"], answer.ext["minOffset"]) == (
        20,
        str(BLOCK),
        str(BLOCK),
    )
    assert not brokers.asked


def test_offset_is_unknown_until_the_item_has_a_start() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b", begin=False)
    assert brokers.fill("b", b"2") == [-1]
    assert brokers.read("b") == [(0, b"1")]


def test_pull_waits_in_the_last_item() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b")
    waiting = brokers["b"].pull(TOPIC, offset=BLOCK, sys_flag=2)
    assert waiting.waits
    brokers.fill("b", b"2")
    assert [message.body for message in waiting.messages] == [b"2"]
    assert waiting.ext["offsetDelta"] == str(BLOCK)
    assert waiting.ext["nextBeginOffset"] == str(BLOCK + 1)


def test_pull_at_the_end_of_an_item_is_answered_at_once() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b")
    brokers.move(0, "a")
    for offset in (1, BLOCK):
        answer = brokers["a"].pull(TOPIC, offset=offset, sys_flag=2)
        assert (answer.code, answer.ext["nextBeginOffset"]) == (20, str((offset // BLOCK + 1) * BLOCK))


def test_pull_outside_the_offsets_returns_the_nearest() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1", b"2")
    brokers.move(0, "b")
    brokers.fill("b", b"3")
    before, behind = (brokers["b"].pull(TOPIC, offset=offset) for offset in (-5, BLOCK + 9))
    assert (before.code, before.ext["nextBeginOffset"]) == (21, "0")
    assert (behind.code, behind.ext["nextBeginOffset"]) == (21, str(BLOCK + 1))
    assert behind.ext["maxOffset"] == str(BLOCK + 1)


def test_commit_with_a_pull_is_mapped_to_the_brokers_queue() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b")
    brokers.fill("b", b"2")
    for commit in (BLOCK + 1, 1):
        brokers["b"].pull(TOPIC, offset=BLOCK + 1, sys_flag=1, commit_offset=commit)
    assert brokers["b"].broker.tables.offsets.queues_of("G", TOPIC) == {0: 1}
    assert not brokers["a"].broker.tables.offsets.queues_of("G", TOPIC)


def test_unreachable_broker_is_named() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b")
    brokers.down.add("a")
    answer = brokers["b"].pull(TOPIC)
    assert (answer.code, answer.remark) == (1, "broker a does not answer: refused")


def test_a_refusal_of_the_other_broker_is_named() -> None:
    brokers = cluster("a")
    brokers.fill("a", b"1")
    brokers.move(0, "b")
    brokers["a"].broker.tables.topics.delete(TOPIC)
    answer = brokers["b"].pull(TOPIC)
    assert answer.code == 1
    assert (answer.remark or "").startswith("broker a answers 17, topic[static] not exist")


def test_other_topics_are_not_affected() -> None:
    brokers = cluster("a")
    brokers["a"].add_topic("T")
    brokers["a"].subscribe("G2", "T")
    assert brokers["a"].send("T", queue_id=3).ext["queueId"] == "3"
    assert len(brokers["a"].pull("T", group="G2", queue_id=3).messages) == 1
    assert all(code != RequestCode.PULL_MESSAGE for _, code in brokers.asked)
