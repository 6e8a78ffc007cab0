"""Popping lite topics: each in order, by the client that was notified of it."""

from typing import Any

import pytest

from mqgateway.gateway.broker.errors import FAQ
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.lite import LiteBroker, queue


def subscribed(*names: str, **given: Any) -> LiteBroker:
    """A broker with client c1 of group G that reads these lite topics."""
    broker = LiteBroker(**given)
    assert broker.control("PARTIAL_ADD", *names).code == 0
    return broker


def test_messages_in_flight_block_their_lite_topic() -> None:
    broker = subscribed("a", "b")
    broker.post("a", b"1", b"2", b"3")
    broker.post("b", b"x")
    answer = broker.ask_pop(max_msg_num=2)
    assert [message.body for message in answer.messages] == [b"1", b"2"]
    assert [message.topic for message in answer.messages] == ["chat", "chat"]
    assert (answer.ext["reviveQid"], answer.ext["orderCountInfo"], answer.remark) == ("999", "0;0", "FOUND")
    assert broker.pop() == [b"x"]
    empty = broker.ask_pop()
    assert (empty.code, empty.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    assert broker.ack(answer, answer.messages[0]).code == 0
    assert broker.pop() == []
    assert broker.ack(answer, answer.messages[1]).code == 0
    assert broker.pop() == [b"3"]


def test_unacknowledged_messages_are_redelivered_and_counted() -> None:
    broker = subscribed("a")
    broker.post("a", b"1", b"2")
    broker.pop()
    broker.wait(10_000)
    answer = broker.ask_pop()
    assert [message.body for message in answer.messages] == [b"1", b"2"]
    assert answer.ext["orderCountInfo"] == "0 qo0%0 1;0 qo0%1 1"


def test_repeated_attempt_gets_the_same_messages() -> None:
    broker = subscribed("a")
    broker.post("a", b"1")
    assert broker.pop(attempt_id="x") == [b"1"]
    broker.broker.lite.events.offer(queue("a"))
    assert broker.pop(attempt_id="x") == [b"1"]


def test_client_waits_for_messages_of_its_subscriptions() -> None:
    broker = subscribed("a")
    waiting = broker.ask_pop(poll_time=5_000)
    broker.post("b", b"no")
    assert waiting.waits
    broker.post("a", b"yes")
    assert [message.body for message in waiting.messages] == [b"yes"]


def test_wait_ends_at_its_deadline() -> None:
    broker = subscribed("a")
    waiting = broker.ask_pop(poll_time=5_000)
    broker.wait(4_900)
    assert waiting.waits
    broker.wait(100)
    assert (waiting.code, waiting.remark) == (210, "NO_MESSAGE_IN_QUEUE")


def test_parked_pops_are_limited() -> None:
    broker = subscribed("a", options={"pop_polling_size": 1})
    assert broker.ask_pop(poll_time=5_000).waits
    assert broker.ask_pop(poll_time=5_000).code == 209
    assert broker.ask_pop("c2", poll_time=5_000).waits


def test_one_client_of_a_group_gets_a_message() -> None:
    broker = subscribed("a")
    broker.control("PARTIAL_ADD", "a", client_id="c2")
    broker.post("a", b"1")
    assert sorted(broker.pop("c1") + broker.pop("c2")) == [b"1"]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (("POLICY", 0), [b"3"]),
        (("POLICY", 1), [b"1", b"2", b"3"]),
        (("OFFSET", 1), [b"2", b"3"]),
        (("TAIL_N", 1), [b"2", b"3"]),
    ],
)
def test_subscription_sets_the_initial_offset(option: tuple[str, int], expected: list[bytes]) -> None:
    broker = LiteBroker()
    broker.post("a", b"1", b"2", b"3")
    broker.broker.tables.offsets.commit("G", queue("a"), 0, 2)
    broker.control("PARTIAL_ADD", "a", option=option)
    assert broker.pop() == expected


def test_subscription_can_begin_at_the_end() -> None:
    broker = LiteBroker()
    broker.post("a", b"1")
    broker.control("PARTIAL_ADD", "a", option=("POLICY", 2))
    assert broker.pop() == []
    broker.post("a", b"2")
    assert broker.pop() == [b"2"]


def test_missing_offset_is_corrected() -> None:
    broker = LiteBroker()
    broker.post("a", b"1")
    broker.broker.tables.offsets.commit("G", queue("a"), 0, 99)
    broker.control("PARTIAL_ADD", "a")
    broker.broker.lite.events.offer(queue("a"))
    assert broker.pop() == []
    assert broker.broker.tables.offsets.query("G", queue("a"), 0) == 1


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"born_time": 1, "poll_time": 9}, 210, "the broker[127.0.0.1] pop message is timeout too much"),
        ({"max_msg_num": 33}, 29, "the broker[127.0.0.1] pop message's num is greater than 32"),
        ({"topic": "none"}, 17, f"topic [none] not exist, apply first please! {FAQ}"),
        ({"topic": "hidden"}, 16, "the topic [hidden] peeking message is forbidden"),
        ({"topic": "T"}, 29, "the topic [T] message type not match"),
        ({"consumer_group": "x" * 121}, 26, f"subscription group [{'x' * 121}] not exist, {FAQ}"),
        ({"consumer_group": "off"}, 16, "subscription group no permission, off"),
        ({"consumer_group": "plain"}, 29, "subscription bind topic not match, plain"),
    ],
)
def test_refusals(fields: dict[str, Any], code: int, remark: str) -> None:
    broker = LiteBroker()
    broker.add_topic("T")
    broker.add_topic("hidden", perm=2)
    broker.bind("off")
    broker.broker.tables.groups.disable_consume("off")
    answer = broker.ask_pop(**fields)
    assert (answer.code, answer.remark) == (code, remark)
    assert answer.ext == {"popTime": "0", "invisibleTime": "0", "reviveQid": "0"}


def test_unreadable_broker_refuses_pops() -> None:
    answer = LiteBroker(options={"broker_permission": 2}).ask_pop()
    assert (answer.code, answer.remark) == (16, "the broker[127.0.0.1] pop message is forbidden")


def test_kill_redelivers_unacknowledged_messages() -> None:
    broker = subscribed("a")
    broker.post("a", b"1", b"2")
    answer = broker.ask_pop()
    broker.ack(answer, answer.messages[0])
    broker.broker.tables.offsets.persist()
    again = LiteBroker(disk=broker.disk.kill(), clock=broker.clock)
    again.broker.tables.offsets.load()
    again.control("COMPLETE_ADD", "a")
    assert again.pop() == [b"2"]


def test_messages_not_in_memory_are_loaded_by_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = subscribed("a", "b")
    broker.post("a", b"1")
    broker.post("b", b"x")
    cold = ColdStore(broker.broker.store, monkeypatch, times=2)
    answer = broker.ask_pop()
    assert answer.waits
    assert cold.bring() == 2
    assert ([message.body for message in answer.messages], cold.waits) == ([b"1", b"x"], 0)


def test_message_in_memory_does_not_wait_for_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = subscribed("a", "b", "c")
    for name in "abc":
        broker.post(name, name.encode())
    cold = ColdStore(broker.broker.store, monkeypatch, times=1, after=1)
    assert broker.pop() == [b"a"]
    assert broker.pop() == [b"b", b"c"]
    assert (cold.waiting, cold.waits) == ([], 0)


def test_woken_pop_of_messages_not_in_memory_waits_for_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = subscribed("a")
    waiting = broker.ask_pop(poll_time=5_000)
    cold = ColdStore(broker.broker.store, monkeypatch, times=1)
    broker.post("a", b"1")
    assert waiting.waits
    assert cold.bring() == 1
    assert ([message.body for message in waiting.messages], cold.waits) == ([b"1"], 0)
