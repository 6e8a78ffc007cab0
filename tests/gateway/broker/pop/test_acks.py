"""Acknowledgements and changes of the time: what they check, what they store, what comes of them."""

from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.steps import run
from mqgateway.gateway.broker.admin.topics import delete_topic
from mqgateway.gateway.broker.pop import acks
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody, bit_set
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker, Popped

REVIVE = "rmq_sys_REVIVE_LOG_DefaultCluster"


@pytest.fixture
def broker() -> PopBroker:
    return PopBroker()


def pop_some(broker: PopBroker, count: int = 1, **fields: object) -> list[Popped]:
    for i in range(count):
        broker.send("T", b"%d" % i, properties={"UNIQ_KEY": f"K{i}", "TAGS": "x"})
    return broker.pop(**fields)


def revived(broker: PopBroker) -> list[bytes]:
    broker.pass_time(INVISIBLE + GRACE)
    return [message.body for message in broker.pop()]


def test_batch_is_acknowledged(broker: PopBroker) -> None:
    messages = pop_some(broker, 4)
    assert broker.batch_ack(messages[0], messages[2], messages[3]).code == 0
    assert revived(broker) == [b"1"]


def test_a_batch_is_one_record(broker: PopBroker) -> None:
    messages = pop_some(broker, 4)
    before = broker.broker.store.max_offset("rmq_sys_wheel_timer", 0)
    broker.batch_ack(*messages)
    assert broker.broker.store.max_offset("rmq_sys_wheel_timer", 0) == before + 1


def test_redelivered_messages_are_acknowledged_in_a_batch(broker: PopBroker) -> None:
    pop_some(broker, 2)
    broker.pass_time(INVISIBLE + GRACE)
    again = broker.pop()
    assert broker.batch_ack(*again).code == 0
    assert revived(broker) == []


def test_late_acknowledgement_counts_before_redelivery(
    broker: PopBroker,
) -> None:
    (message,) = pop_some(broker)
    broker.pass_time(INVISIBLE + 500)
    assert broker.ack(message).code == 0
    assert revived(broker) == []


def test_changed_time_starts_now(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    broker.pass_time(5000)
    changed = broker.changed(message, 20_000)
    assert changed.receipt.split(" ")[2] == "20000"
    broker.pass_time(19_500)
    assert broker.pop() == []
    broker.pass_time(500 + GRACE)
    assert [one.body for one in broker.pop()] == [b"0"]


def test_a_time_can_be_shortened(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    broker.change(message, 1000)
    broker.pass_time(1000 + GRACE)
    assert [one.stored.reconsume_times for one in broker.pop()] == [1]
    assert revived(broker) == [b"0"], "once only: the first check point is done with"


def test_a_time_can_be_changed_at_once_and_again(broker: PopBroker) -> None:
    """Within a millisecond; the message is not lost."""
    (message,) = pop_some(broker)
    first = broker.changed(message, 1000)
    second = broker.changed(first, 1000)
    times = {int(one.receipt.split(" ")[1]) for one in (message, first, second)}
    assert len(times) == 3
    assert revived(broker) == [b"0"]


def test_a_suspended_message_is_not_counted(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    broker.change(message, 1000, suspend=True)
    broker.pass_time(1000 + GRACE)
    assert [one.stored.reconsume_times for one in broker.pop()] == [0]


def test_a_changed_message_is_acknowledged_with_its_new_receipt(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    changed = broker.changed(message, 20_000)
    assert broker.ack(changed).code == 0
    broker.pass_time(20_000 + GRACE)
    assert broker.pop() == []


def test_in_order_the_time_of_one_message_is_changed_in_place(broker: PopBroker) -> None:
    one, two = pop_some(broker, 2, order=True)
    answer = broker.change(two, 20_000)
    assert (answer.ext["popTime"], answer.ext["reviveQid"]) == (one.receipt.split(" ")[1], "999")
    assert answer.ext["invisibleTime"] == "20000"
    broker.ack(one)
    broker.pass_time(INVISIBLE + GRACE)
    assert broker.pop(order=True) == []
    broker.pass_time(20_000)
    assert [one.body for one in broker.pop(order=True)] == [b"1"]


def test_in_order_consumed_message_is_not_changed(broker: PopBroker) -> None:
    one, _ = pop_some(broker, 2, order=True)
    broker.ack(one)
    assert broker.ack(one).code == 0
    assert broker.change(one, 1000).code == ResponseCode.NO_MESSAGE


def test_in_order_message_not_in_flight_is_refused(broker: PopBroker) -> None:
    broker.send("T", b"other", properties={"UNIQ_KEY": "K", "TAGS": "y"})
    one, _ = pop_some(broker, 2, order=True, exp="x", exp_type="TAG")
    answer = broker.ack(one._replace(offset=3))
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert answer.remark == "offset is illegal, key:T@G@0, old:0, commit:3, next:-1, 10.0.0.2:4002"


def test_in_order_batch_is_acknowledged(broker: PopBroker) -> None:
    messages = pop_some(broker, 3, order=True)
    assert broker.batch_ack(*messages).code == 0
    assert broker.broker.tables.offsets.query("G", "T", 0) == 3


def test_in_order_a_pending_reset_is_not_overwritten(broker: PopBroker) -> None:
    (one,) = pop_some(broker, 1, order=True)
    offsets = broker.broker.tables.offsets
    offsets.assign_reset("G", "T", 0, 0)
    broker.ack(one)
    assert (offsets.query("G", "T", 0), offsets.queues_of("G", "T")[0]) == (0, 0)


@pytest.mark.parametrize(
    ("change", "ack_code", "change_code"),
    [
        ({"topic": "U"}, 17, 17),
        ({"queue_id": 4}, 13, 13),
        ({"queue_id": -1}, 13, 13),
        ({"offset": -1}, 208, 208),
        ({"offset": 2}, 208, 208),
        ({"offset": 1}, 0, 208),
        ({"receipt": "rubbish"}, 1, 1),
        ({"receipt": "0 1 2 8 0 b"}, 1, 1),
        ({"receipt": "0 1 2 -1 0 b"}, 1, 1),
    ],
)
def test_invalid_receipt_is_refused(
    broker: PopBroker, change: dict[str, object], ack_code: int, change_code: int
) -> None:
    (message,) = pop_some(broker)
    wrong = message._replace(**change)  # type: ignore[arg-type]
    assert broker.ack(wrong).code == ack_code
    assert broker.change(wrong, 1000).code == change_code


def test_refusals_have_remarks(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    assert broker.ack(message._replace(offset=5)).remark == "offset is illegal, key:T@0, commit:5, store:0~1"
    remark = broker.ack(message._replace(queue_id=7)).remark or ""
    assert remark.startswith("queueId[7] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/")
    assert broker.change(message._replace(offset=5), 1).remark is None


def test_invalid_group_name_acknowledges_nothing(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    assert broker.ack(message, "a\x02TAGS\x01x").code == 0
    assert broker.broker.store.max_offset("rmq_sys_wheel_timer", 0) == 1


def test_invalid_group_name_changes_no_time(broker: PopBroker) -> None:
    """The answer is the one to a change; the message stays hidden as long as it was."""
    (message,) = pop_some(broker)
    answer = broker.change(message, 60_000, group="a\x02TAGS\x01x")
    assert (answer.code, answer.ext["invisibleTime"]) == (0, "60000")
    assert answer.ext["reviveQid"] == message.receipt.split(" ")[3]
    assert broker.broker.store.max_offset("rmq_sys_wheel_timer", 0) == 1


def test_empty_batch_is_refused(broker: PopBroker) -> None:
    assert broker.ask(RequestCode.BATCH_ACK_MESSAGE).code == ResponseCode.NO_MESSAGE
    body = BatchAckMessageRequestBody(broker_name="b", acks=[]).encode()
    assert broker.ask(RequestCode.BATCH_ACK_MESSAGE, None, body).code == ResponseCode.NO_MESSAGE


def batch(**fields: object) -> bytes:
    usual: dict[str, object] = {
        "consumer_group": "G",
        "topic": "T",
        "retry": "0",
        "start_offset": 0,
        "queue_id": 0,
        "revive_queue_id": 0,
        "pop_time": 1,
        "invisible_time": 1,
        "bit_set": bit_set([0]),
    }
    return BatchAckMessageRequestBody("b", [BatchAck(**usual | fields)]).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"retry": "7"}, 1),
        ({"bit_set": "%%"}, 1),
        ({"bit_set": "A" * 20_000}, 1),
        ({"revive_queue_id": 8}, 1),
        ({"topic": "U"}, 0),
        ({"queue_id": 9}, 0),
        ({"start_offset": 1000}, 0),
        ({"consumer_group": "a b"}, 0),
    ],
)
def test_batch_without_valid_offsets_stores_nothing(
    broker: PopBroker, fields: dict[str, object], code: int
) -> None:
    pop_some(broker)
    before = broker.broker.store.max_physical_offset
    assert broker.ask(RequestCode.BATCH_ACK_MESSAGE, None, batch(**fields)).code == code
    assert broker.broker.store.max_physical_offset == before


def test_acknowledgement_that_is_not_stored_fails(broker: PopBroker) -> None:
    one, _ = pop_some(broker, 2)
    broker.disk.fail_next("write", "/commitlog/", 28, times=1 << 30, part=0)  # type: ignore[attr-defined]
    assert broker.ack(one).code == ResponseCode.SYSTEM_ERROR
    assert broker.change(one, 1000).code == ResponseCode.SYSTEM_ERROR
    broker.disk.heal()  # type: ignore[attr-defined]
    broker.pass_time(2000)
    assert revived(broker) == [b"0", b"1"]


def test_with_sync_flush_the_answer_waits_for_the_disk() -> None:
    broker = PopBroker(store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH})
    (message,) = pop_some(broker)
    assert broker.ack(message).code == 0
    assert broker.broker.store.flushed_offset == broker.broker.store.max_physical_offset
    assert revived(broker) == []


def test_batch_is_answered_once_all_its_acknowledgements_are_stored(
    broker: PopBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Deferred[None]] = [Deferred(), Deferred()]
    monkeypatch.setattr(acks, "_acknowledge_many", lambda broker, peer, ack: (waiting[ack], True))
    outcome = run(acks.acknowledge_batch(broker.broker, cast(Any, [0, 1]), broker.consumer))
    assert outcome is not None
    for one in waiting:
        assert not outcome.called
        one.callback(None)
    assert outcome.called


def test_receipts_of_a_forged_future_are_refused(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    fields = message.receipt.split(" ")
    fields[2] = str(10**15)
    answer = broker.ack(message._replace(receipt=" ".join(fields)))
    assert (answer.code, answer.remark) == (1, "WHEEL_TIMER_MSG_ILLEGAL")


# Receipts that are not current.

INDEXED = {"message_index_enable": True}


def times(broker: PopBroker) -> tuple[int, int]:
    return broker.broker.store.max_offset("rmq_sys_wheel_timer", 0), broker.broker.store.max_offset(REVIVE, 0)


def test_replaced_receipt_is_refused_by_every_operation(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    broker.changed(message, 20_000)
    before = times(broker)
    answers = [broker.ack(message), broker.batch_ack(message), broker.change(message, 1000)]
    assert [answer.code for answer in answers] == [ResponseCode.NO_MESSAGE] * 3
    assert all("no longer current" in (answer.remark or "") for answer in answers)
    assert times(broker) == before, "nothing is stored"
    broker.pass_time(20_000 + GRACE)
    assert [one.body for one in broker.pop()] == [b"0"]


def test_receipt_of_a_message_that_is_visible_again_is_refused(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    broker.pass_time(INVISIBLE + GRACE)
    assert broker.ack(message).code == broker.batch_ack(message).code == ResponseCode.NO_MESSAGE
    assert broker.change(message, 1000).code == ResponseCode.NO_MESSAGE
    assert len(broker.pop()) == 1


def test_repeated_acknowledgement_succeeds_and_stores_nothing(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    broker.ack(message)
    before = times(broker)
    assert broker.ack(message).code == broker.batch_ack(message).code == 0
    assert times(broker) == before


@pytest.mark.parametrize("millis", [1000, 60_000])
def test_change_of_an_acknowledged_message_does_not_bring_it_back(broker: PopBroker, millis: int) -> None:
    one, two = pop_some(broker, 2)
    broker.ack(one)
    broker.batch_ack(two)
    assert [broker.change(each, millis).code for each in (one, two)] == [ResponseCode.NO_MESSAGE] * 2
    broker.pass_time(70_000)
    assert broker.pop() == []


def test_batch_acknowledges_current_receipts_and_refuses_stale_ones(broker: PopBroker) -> None:
    one, two = pop_some(broker, 2)
    broker.changed(one, 30_000)
    assert broker.batch_ack(one, two).code == ResponseCode.NO_MESSAGE
    broker.pass_time(30_000 + GRACE)
    assert [each.body for each in broker.pop()] == [b"0"]


def test_receipts_of_one_turn_affect_each_other(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    gathered = broker.broker.pop.gathered
    broker.is_turn = True
    answer = broker.ack(message)
    assert answer.waits
    assert broker.change(message, 1000).code == ResponseCode.NO_MESSAGE
    gathered.settle()
    assert answer.code == 0
    broker.pass_time(INVISIBLE + GRACE)
    assert broker.pop() == []


def test_receipt_is_current_again_where_its_acknowledgement_could_not_be_stored(broker: PopBroker) -> None:
    (message,) = pop_some(broker)
    gathered = broker.broker.pop.gathered
    broker.is_turn = True
    answer = broker.ack(message)
    broker.broker.store.gate = closed_gate(RoleKind.SLAVE)
    gathered.settle()
    broker.broker.store.gate = None
    broker.is_turn = False
    assert answer.code != 0
    assert broker.ack(message).code == 0
    assert revived(broker) == []


@pytest.mark.parametrize("is_batch", [False, True])
def test_receipts_are_known_after_kill_by_the_index(*, is_batch: bool) -> None:
    before = PopBroker(store_options=INDEXED)
    acked, replaced, open_one = pop_some(before, 3)
    if is_batch:
        before.batch_ack(acked)
    else:
        before.ack(acked)
    before.changed(replaced, INVISIBLE)
    before.broker.store.tick()
    broker = before.kill()
    assert broker.ack(acked).code == 0
    assert broker.change(acked, 20_000).code == ResponseCode.NO_MESSAGE
    assert broker.ack(replaced).code == broker.change(replaced, 20_000).code == ResponseCode.NO_MESSAGE
    assert broker.ack(open_one).code == 0
    assert [one.body for one in _all_revived(broker)] == [b"1"]


def _all_revived(broker: PopBroker) -> list[Popped]:
    broker.pass_time(INVISIBLE + 3 * GRACE)
    return broker.pop()


def test_receipt_of_a_deleted_topic_hides_no_message_of_the_new_one() -> None:
    before = PopBroker(store_options=INDEXED)
    (old,) = pop_some(before)
    delete_topic(before.broker, "T")
    before.add_topic("T")
    before.send("T", b"new")
    assert before.change(old, 20_000).code == ResponseCode.NO_MESSAGE
    before.broker.store.tick()
    broker = before.kill()
    assert broker.change(old, 20_000).code == broker.ack(old).code == ResponseCode.NO_MESSAGE


def test_receipt_in_order_is_refused_once_its_message_was_popped_again(broker: PopBroker) -> None:
    (message,) = pop_some(broker, order=True)
    broker.pass_time(INVISIBLE + 1000)
    (again,) = broker.pop(order=True)
    for each in (broker.ack(message), broker.batch_ack(message), broker.change(message, 1000)):
        assert each.code == ResponseCode.NO_MESSAGE
    assert broker.ack(again).code == broker.ack(again).code == 0
    assert broker.change(again, 1000).code == ResponseCode.NO_MESSAGE
