"""200050 POP_MESSAGE: the delivered messages, their order, the answers, and waiting."""

import pytest

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.helpers import FakePeer, plain_message
from tests.support.gateway.broker.pop import GRACE, INVISIBLE, PopBroker, popped


@pytest.fixture
def broker() -> PopBroker:
    return PopBroker()


def send(broker: PopBroker, *bodies: bytes, queue_id: int = 0, **properties: str) -> None:
    for body in bodies:
        named = {"UNIQ_KEY": body.decode(), **properties}
        assert broker.send("T", body, queue_id=queue_id, properties=named).code == 0


def test_messages_of_all_queues_are_delivered(broker: PopBroker) -> None:
    for queue_id in range(4):
        send(broker, b"%d" % queue_id, queue_id=queue_id)
    answer = broker.ask_pop()
    assert (answer.code, answer.remark) == (0, "FOUND")
    # 50 is where chance begins, and high numbers come first.
    assert [message.body for message in answer.messages] == [b"1", b"0", b"3", b"2"]
    assert answer.ext["startOffsetInfo"] == "0 1 0;0 0 0;0 3 0;0 2 0"
    assert answer.ext["msgOffsetInfo"] == "0 1 0;0 0 0;0 3 0;0 2 0"
    assert answer.ext["popTime"] == str(broker.clock.millis())
    assert answer.ext["invisibleTime"] == str(INVISIBLE)
    assert answer.ext["restNum"] == "0"
    assert "orderCountInfo" not in answer.ext


def test_order_of_the_queues_can_be_reversed(broker: PopBroker) -> None:
    broker.options.priority_order_asc = False
    for queue_id in range(4):
        send(broker, b"%d" % queue_id, queue_id=queue_id)
    assert [message.body for message in broker.pop()] == [b"2", b"3", b"0", b"1"]


def test_popped_message_is_not_delivered_again(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    assert [message.body for message in broker.pop(max_msg_nums=1)] == [b"a"]
    assert [message.body for message in broker.pop()] == [b"b"]
    answer = broker.ask_pop()
    assert (answer.code, answer.remark) == (ResponseCode.POLLING_TIMEOUT, "NO_MESSAGE_IN_QUEUE")
    assert answer.ext["startOffsetInfo"] == ""


def test_groups_are_independent(broker: PopBroker) -> None:
    send(broker, b"a")
    assert len(broker.pop()) == 1
    assert len(broker.pop(consumer_group="H")) == 1


def test_single_queue_can_be_requested(broker: PopBroker) -> None:
    send(broker, b"a", queue_id=1)
    assert broker.pop(queue_id=0) == []
    assert len(broker.pop(queue_id=1)) == 1


def test_pop_returns_at_most_the_requested_number(broker: PopBroker) -> None:
    for queue_id in range(4):
        send(broker, b"%da" % queue_id, b"%db" % queue_id, queue_id=queue_id)
    answer = broker.ask_pop(max_msg_nums=3)
    assert [message.body for message in answer.messages] == [b"1a", b"1b", b"0a"]
    assert answer.ext["restNum"] == "5"


def test_revive_queues_are_used_round_robin(broker: PopBroker) -> None:
    send(broker, b"a", b"b", b"c")
    used = {broker.ask_pop(max_msg_nums=1).ext["reviveQid"] for _ in range(3)}
    assert len(used) == 3


def test_acknowledged_message_is_not_redelivered(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    first, _ = broker.pop()
    assert broker.ack(first).code == 0
    broker.pass_time(INVISIBLE + GRACE)
    assert [message.body for message in broker.pop()] == [b"b"]


def test_unacknowledged_message_is_redelivered_from_the_retry_topic(broker: PopBroker) -> None:
    send(broker, b"a", TAGS="x", OTHER="y")
    (first,) = broker.pop()
    born = first.stored.born_timestamp
    broker.pass_time(INVISIBLE - 500)
    assert broker.pop() == []
    broker.pass_time(500 + GRACE)
    (again,) = broker.pop()
    assert (again.topic, again.stored.topic, again.body) == ("%RETRY%G_T", "T", b"a")
    assert again.stored.reconsume_times == 1
    assert again.stored.born_timestamp == born
    assert again.receipt.split(" ")[4:] == ["1", "broker-a", "0", "0"]
    properties = again.stored.properties
    assert properties["1ST_POP_TIME"] == first.receipt.split(" ")[1]
    assert (properties["ORIGIN_GROUP"], properties["TAGS"], properties["OTHER"]) == ("G", "x", "y")
    assert broker.broker.tables.topics.get("%RETRY%G_T") == TopicConfig("%RETRY%G_T", 1, 1)


def test_message_is_redelivered_repeatedly(broker: PopBroker) -> None:
    send(broker, b"a")
    first_time = broker.clock.millis()
    for turn in range(3):
        (message,) = broker.pop()
        assert message.stored.reconsume_times == turn
        broker.pass_time(INVISIBLE + GRACE)
    (message,) = broker.pop()
    assert message.stored.properties["1ST_POP_TIME"] == str(first_time)
    assert broker.ack(message).code == 0
    broker.pass_time(INVISIBLE + GRACE)
    assert broker.pop() == []


def test_message_is_redelivered_to_its_group_only(broker: PopBroker) -> None:
    send(broker, b"a")
    broker.pop()
    (other,) = broker.pop(consumer_group="H")
    broker.ack(other, "H")
    broker.pass_time(INVISIBLE + GRACE)
    assert broker.pop(consumer_group="H") == []
    assert len(broker.pop()) == 1


def test_actual_retry_topic_can_be_returned(broker: PopBroker) -> None:
    broker.options.pop_response_return_actual_retry_topic = True
    send(broker, b"a")
    broker.pop()
    broker.pass_time(INVISIBLE + GRACE)
    (message,) = broker.ask_pop().messages
    assert message.topic == "%RETRY%G_T"
    assert "POP_CK" not in message.properties


def test_retry_topic_v2_is_used(broker: PopBroker) -> None:
    """Messages of the old retry topic are still found, by every other pop."""
    send(broker, b"a")
    broker.pop()
    broker.pass_time(INVISIBLE + GRACE)
    broker.options.enable_retry_topic_v2 = True
    send(broker, b"b")
    broker.chance = 51
    assert [message.body for message in broker.pop()] == [b"b"]
    broker.pass_time(INVISIBLE + GRACE)
    (message,) = broker.pop()
    assert (message.topic, message.body) == ("%RETRY%G+T", b"b")
    assert broker.ack(message).code == 0
    broker.chance = 50
    (message,) = broker.pop()
    assert (message.topic, message.body) == ("%RETRY%G_T", b"a")


@pytest.mark.parametrize(("chance", "expected"), [(19, [b"old", b"new"]), (20, [b"new", b"old"])])
def test_retries_come_first_at_random(broker: PopBroker, chance: int, expected: list[bytes]) -> None:
    send(broker, b"old")
    broker.pop()
    broker.pass_time(INVISIBLE + GRACE)
    send(broker, b"new")
    broker.chance = chance
    assert [message.body for message in broker.pop()] == expected


def test_messages_with_other_tags_are_skipped(broker: PopBroker) -> None:
    send(broker, b"a", TAGS="x")
    send(broker, b"b", TAGS="y")
    send(broker, b"c", TAGS="x")
    answer = broker.ask_pop(exp="x", exp_type="TAG")
    assert [message.body for message in answer.messages] == [b"a", b"c"]
    assert answer.ext["msgOffsetInfo"] == "0 0 0,2"
    assert broker.pop() == []


def test_expressions_are_evaluated(broker: PopBroker) -> None:
    send(broker, b"a", size="3")
    send(broker, b"b", size="5")
    assert [one.body for one in broker.pop(exp="size > 4", exp_type="SQL92")] == [b"b"]


def test_pop_continues_after_filtered_messages(broker: PopBroker) -> None:
    for i in range(2000):
        send(broker, b"%d" % i, TAGS="x")
    send(broker, b"end", TAGS="y")
    assert [one.body for one in broker.pop(exp="y", exp_type="TAG")] == [b"end"]


def test_bad_expression_is_refused_with_rocketmqs_text(broker: PopBroker) -> None:
    answer = broker.ask_pop(exp="size >", exp_type="SQL92")
    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert answer.remark == "parse the consumer's subscription failed"


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"max_msg_nums": 33}, 29, "the broker[127.0.0.1] pop message's num is greater than 32"),
        ({"topic": "U"}, 17, "topic[U] not exist, apply first please! "),
        ({"queue_id": 4}, 29, "queueId[4] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/"),
        ({"consumer_group": "a b"}, 26, "subscription group [a b] does not exist, "),
        ({"born_time": 1}, 210, "the broker[127.0.0.1] pop message is timeout too much"),
        ({"invisible_time": 4 * 86_400_000}, 29, "messages may be invisible for 259200000 ms, no longer"),
    ],
)
def test_invalid_pop_is_refused(broker: PopBroker, fields: dict[str, object], code: int, remark: str) -> None:
    answer = broker.ask_pop(**fields)
    assert answer.code == code
    assert (answer.remark or "").startswith(remark)


def test_client_with_a_lagging_clock_is_refused_once_and_then_waits(
    broker: PopBroker,
) -> None:
    broker.clock.advance(200_000)
    behind = broker.clock.millis() - 111_000
    assert broker.ask_pop(born_time=behind, poll_time=15_000).code == ResponseCode.POLLING_TIMEOUT
    waiting = broker.ask_pop(born_time=behind, poll_time=15_000)
    broker.pass_time(14_000)
    assert broker.waiting() == 1
    broker.pass_time(2_000)
    assert waiting.code == ResponseCode.POLLING_TIMEOUT
    assert broker.send("T", b"a").code == 0
    assert broker.ask_pop(born_time=broker.clock.millis() - 111_000).code == ResponseCode.SUCCESS


def test_pop_without_permission_is_refused(broker: PopBroker) -> None:
    broker.add_topic("T", perm=2)
    assert (broker.ask_pop().code, broker.ask_pop().remark) == (
        16,
        "the topic[T] peeking message is forbidden",
    )
    broker.broker.tables.groups.find("G")
    broker.broker.tables.groups.disable_consume("G")
    broker.add_topic("T")
    assert broker.ask_pop().remark == "subscription group no permission, G"
    broker.options.broker_permission = 2
    assert broker.ask_pop().remark == "the broker[127.0.0.1] pop message is forbidden"


def test_pop_without_timers_is_refused() -> None:
    broker = PopBroker(store_options={"timer_wheel_enable": False})
    answer = broker.ask_pop()
    assert answer.code == 1
    assert "timerWheelEnable is false" in (answer.remark or "")


@pytest.mark.parametrize(("mode", "expected"), [(0, [b"a", b"b"]), (1, [b"b"])], ids=["min", "max"])
def test_first_offset_of_a_new_group(broker: PopBroker, mode: int, expected: list[bytes]) -> None:
    broker.options.init_pop_offset_by_check_msg_in_mem = False
    send(broker, b"a", b"b")
    assert [message.body for message in broker.pop(init_mode=mode)] == expected


def test_a_new_group_begins_at_the_start_of_what_is_in_memory(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    assert len(broker.pop(init_mode=1)) == 2


def test_group_with_too_many_messages_in_flight_is_throttled(broker: PopBroker) -> None:
    broker.options.enable_pop_message_threshold = True
    broker.options.pop_inflight_message_threshold = 1
    send(broker, b"a", b"b", b"c")
    one, _ = broker.pop(max_msg_nums=2)
    answer = broker.ask_pop()
    assert (answer.code, answer.ext["restNum"]) == (210, "1")
    broker.ack(one)
    assert [message.body for message in broker.pop()] == [b"c"]


def test_message_wakes_a_parked_pop(broker: PopBroker) -> None:
    waiting = [broker.ask_pop(poll_time=15_000) for _ in range(2)]
    assert broker.waiting() == 2
    send(broker, b"a")
    assert [answer.waits for answer in waiting] == [False, True]
    assert [message.body for message in popped(waiting[0])] == [b"a"]
    assert broker.waiting() == 1


def test_pop_that_leaves_messages_wakes_the_next(broker: PopBroker) -> None:
    waiting = [broker.ask_pop(poll_time=15_000, max_msg_nums=1) for _ in range(3)]
    for i in range(2):
        broker.broker.store.put(plain_message("T", 0, b"%d" % i))
    broker.broker.store.dispatch()
    assert [answer.waits for answer in waiting] == [False, False, True]


def test_pop_parked_for_a_queue_is_woken_by_that_queue_only(broker: PopBroker) -> None:
    waiting = broker.ask_pop(poll_time=15_000, queue_id=1)
    send(broker, b"a", queue_id=0)
    assert waiting.waits
    send(broker, b"b", queue_id=1)
    assert [message.body for message in popped(waiting)] == [b"b"]


def test_parked_pop_is_woken_by_matching_messages(broker: PopBroker) -> None:
    waiting = broker.ask_pop(poll_time=15_000, exp="x", exp_type="TAG")
    send(broker, b"a", TAGS="y")
    assert waiting.waits
    send(broker, b"b", TAGS="x")
    assert [message.body for message in popped(waiting)] == [b"b"]


def test_redelivered_message_wakes_its_group(broker: PopBroker) -> None:
    send(broker, b"a")
    broker.pop()
    waiting = broker.ask_pop(poll_time=60_000)
    other = broker.ask_pop(poll_time=60_000, consumer_group="H", init_mode=1)
    assert len(popped(other)) == 1
    other = broker.ask_pop(poll_time=60_000, consumer_group="H")
    broker.pass_time(INVISIBLE + GRACE)
    assert [message.body for message in popped(waiting)] == [b"a"]
    broker.pass_time(60_000)
    assert len(popped(other)) == 1, "its own copy"


def test_parked_pop_is_answered_shortly_before_its_deadline(broker: PopBroker) -> None:
    waiting = broker.ask_pop(poll_time=1000)
    broker.wait(900)
    assert waiting.waits
    broker.wait(50)
    assert (waiting.code, waiting.remark) == (210, "NO_MESSAGE_IN_QUEUE")


def test_client_that_does_not_wait_is_answered_at_once(broker: PopBroker) -> None:
    assert broker.ask_pop(poll_time=1000, born_time=broker.clock.millis() - 960).code == 210


def test_lost_client_gets_no_messages(broker: PopBroker) -> None:
    peer = FakePeer("10.0.0.9:1")
    broker.ask_pop(poll_time=15_000, peer=peer)
    peer.lose()
    assert broker.waiting() == 0
    send(broker, b"a")
    assert len(broker.pop()) == 1


def test_parked_pops_are_limited(broker: PopBroker) -> None:
    broker.options.pop_polling_size = 1
    broker.ask_pop(poll_time=15_000)
    full = broker.ask_pop(poll_time=15_000)
    assert (full.code, full.remark) == (ResponseCode.POLLING_FULL, "NO_MESSAGE_IN_QUEUE")


def test_nothing_is_delivered_without_a_checkpoint(broker: PopBroker) -> None:
    send(broker, b"a")
    broker.disk.fail_next("write", "/commitlog/", 28, times=1 << 30, part=0)  # type: ignore[attr-defined]
    answer = broker.ask_pop()
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith("nothing can be delivered: ")
    broker.disk.heal()  # type: ignore[attr-defined]
    broker.pass_time(2000)
    assert [message.body for message in broker.pop()] == [b"a"]


def test_queue_without_a_checkpoint_is_left_out_of_a_pop(broker: PopBroker) -> None:
    """The checkpoint of the other queue is stored: without an answer its messages would stay invisible."""
    send(broker, b"a", queue_id=1)
    send(broker, b"b", queue_id=0)
    broker.disk.fail_next("write", "/commitlog/", 28, times=1 << 30, skip=1, part=0)  # type: ignore[attr-defined]
    answer = broker.ask_pop()
    assert [message.body for message in popped(answer)] == [b"a"]
    assert answer.ext["restNum"] == "1"
    broker.disk.heal()  # type: ignore[attr-defined]
    broker.pass_time(2000)
    assert [message.body for message in broker.pop()] == [b"b"]


def test_in_order_a_queue_is_blocked_until_all_are_consumed(broker: PopBroker) -> None:
    send(broker, b"a", b"b", b"c")
    one, two = broker.pop(order=True, max_msg_nums=2)
    assert one.receipt.split(" ")[3] == "999"
    assert broker.pop(order=True) == []
    assert broker.ack(two).code == 0
    assert broker.pop(order=True) == []
    assert broker.ack(one).code == 0
    assert [message.body for message in broker.pop(order=True)] == [b"c"]


def test_in_order_messages_are_redelivered_in_place(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    one, _ = broker.pop(order=True)
    broker.ack(one)
    broker.pass_time(INVISIBLE)
    answer = broker.ask_pop(order=True)
    assert [message.body for message in answer.messages] == [b"b"]
    assert answer.ext["orderCountInfo"] == "0 qo0%1 1;0 0 1"
    assert broker.broker.tables.topics.get("%RETRY%G_T") is None


def test_in_order_other_queues_are_not_blocked(broker: PopBroker) -> None:
    send(broker, b"a", queue_id=0)
    send(broker, b"b", queue_id=1)
    assert len(broker.pop(order=True, max_msg_nums=1)) == 1
    assert len(broker.pop(order=True)) == 1


def test_in_order_repeated_attempt_gets_the_same_messages(broker: PopBroker) -> None:
    send(broker, b"a")
    first = broker.pop(order=True, attempt_id="1")
    assert broker.pop(order=True, attempt_id="2") == []
    answer = broker.ask_pop(order=True, attempt_id="1")
    assert [message.body for message in popped(answer)] == [message.body for message in first]
    assert answer.ext["orderCountInfo"] == "0 0 0"


def test_in_order_acknowledgement_wakes_a_parked_pop(broker: PopBroker) -> None:
    send(broker, b"a", b"b")
    (one,) = broker.pop(order=True, max_msg_nums=1)
    waiting = broker.ask_pop(order=True, poll_time=15_000)
    assert waiting.waits
    broker.ack(one)
    assert [message.body for message in popped(waiting)] == [b"b"]


def test_in_order_expiry_wakes_a_parked_pop(broker: PopBroker) -> None:
    send(broker, b"a")
    broker.pop(order=True)
    waiting = broker.ask_pop(order=True, poll_time=30_000)
    broker.pass_time(INVISIBLE)
    assert [message.body for message in popped(waiting)] == [b"a"]


def test_in_order_filtered_messages_are_skipped(broker: PopBroker) -> None:
    send(broker, b"a", TAGS="x")
    assert broker.pop(order=True, exp="y", exp_type="TAG") == []
    assert broker.broker.tables.offsets.query("G", "T", 0) == 1


@pytest.mark.parametrize("order", [False, True])
def test_reset_moves_the_group_back(broker: PopBroker, order: bool) -> None:
    send(broker, b"a", b"b")
    assert len(broker.pop(order=order)) == 2
    broker.broker.tables.offsets.assign_reset("G", "T", 0, 1)
    assert [message.body for message in broker.pop(order=order)] == [b"b"]


def test_wrong_offset_of_a_group_is_corrected(broker: PopBroker) -> None:
    send(broker, b"a")
    broker.pop()
    broker.wait(1000)
    broker.broker.tables.offsets.commit("G", "T", 0, 99)
    assert broker.pop() == []
    send(broker, b"b")
    assert [message.body for message in broker.pop()] == [b"b"]


def test_messages_not_in_memory_are_loaded(monkeypatch: pytest.MonkeyPatch, broker: PopBroker) -> None:
    send(broker, b"a")
    cold = ColdStore(broker.broker.store, monkeypatch, times=1)
    answer = broker.ask_pop()
    assert answer.waits
    assert cold.bring() == 1
    assert ([message.body for message in answer.messages], cold.waits) == ([b"a"], 0)


def test_woken_pop_of_messages_not_in_memory_does_not_block_others(
    monkeypatch: pytest.MonkeyPatch, broker: PopBroker
) -> None:
    waiting = broker.ask_pop(poll_time=15_000)
    assert waiting.waits
    cold = ColdStore(broker.broker.store, monkeypatch, times=1)
    send(broker, b"a")
    assert waiting.waits
    assert cold.bring() == 1
    assert ([message.body for message in waiting.messages], cold.waits) == ([b"a"], 0)
