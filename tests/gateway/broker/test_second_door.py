"""A door that speaks no remoting: whatever the broker can do is reached by operations alone.

No command of the remoting protocol can be made while it is open.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.message import StoredMessage, format_properties
from mqgateway.engine.pop import Receipt
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import topics
from mqgateway.gateway.broker.consume import offsets, query
from mqgateway.gateway.broker.consume.pull import pull
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullStatus
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.pop.acks import acknowledge, change_invisible_time
from mqgateway.gateway.broker.pop.pop import PopOutcome, pop
from mqgateway.gateway.broker.produce import timers
from mqgateway.gateway.broker.produce.send import SendOutcome, send
from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd, end_transaction
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.broker.helpers import MemoryBroker, split_records
from tests.support.gateway.broker.pop_requests import Acked, Pop
from tests.support.gateway.broker.popping import PopBroker
from tests.support.gateway.broker.producing import TypedMessage, outcome_of
from tests.support.gateway.broker.pulls import wish


class Door:
    """Turns plain calls into operations of one broker, and decides nothing."""

    def __init__(self, memory: MemoryBroker) -> None:
        self.memory = memory
        self.broker = memory.broker
        self.client = memory.consumer

    def send(self, body: bytes, sys_flag: int = 0, **properties: str) -> SendOutcome:
        """To queue 0 of T."""
        given = {"UNIQ_KEY": body.decode(), **properties}
        request = TypedMessage(sys_flag=sys_flag, properties=format_properties(given))
        now = self.memory.clock.millis()
        return outcome_of(send(self.broker, request, body, self.client, now))

    def pull(self, offset: int = 0) -> PullOutcome | Deferred[PullOutcome]:
        """From queue 0 of T, waiting where there is nothing."""
        return pull(self.broker, wish(queue_offset=offset, sys_flag=6), self.client)

    def pop(self) -> PopOutcome:
        """From T."""
        outcome = pop(self.broker, Pop(), self.client)
        assert isinstance(outcome, PopOutcome)
        return outcome


def receipt(outcome: PopOutcome, offset: int) -> Acked:
    """What the message at an offset is acknowledged with."""
    find = outcome.finds[0]
    times = outcome.pop_time, outcome.invisible_time
    made = Receipt(find.start_offset, *times, outcome.revive_queue_id, "0", "broker-a")
    return Acked(made.of_message(find.queue_id, offset), offset)


def bodies(records: bytes) -> list[bytes]:
    """Of messages whose records lie back to back."""
    messages: list[StoredMessage] = split_records(records)
    return [message.body for message in messages]


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """A door on a broker with a topic and a group that pops and pulls."""
    memory = PopBroker(options={"recall_message_enable": True})
    memory.broker.tables.groups.put(SubscriptionGroupConfig("G"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a command was made")

    with monkeypatch.context() as patch:
        patch.setattr(RemotingCommand, "__init__", refuse)
        with pytest.raises(AssertionError):
            RemotingCommand.request(10)
        yield Door(memory)


def test_messages_are_sent_and_pulled(door: Door) -> None:
    sent = door.send(b"a")
    assert (sent.status, sent.queue_id, sent.queue_offset) == (PutStatus.PUT_OK, 0, 0)
    door.broker.store.dispatch()
    pulled = outcome_of(door.pull())
    assert (pulled.status, bodies(pulled.body), pulled.next_offset) == (PullStatus.FOUND, [b"a"], 1)


def test_a_pull_waits_for_what_is_sent_next(door: Door) -> None:
    waiting = door.pull()
    assert isinstance(waiting, Deferred) and not waiting.called
    arrived: list[PullOutcome] = []
    waiting.addCallback(arrived.append)
    door.send(b"a")
    door.broker.store.dispatch()
    assert [bodies(one.body) for one in arrived] == [[b"a"]]


def test_messages_are_popped_hidden_longer_and_acknowledged(door: Door) -> None:
    door.send(b"a")
    door.send(b"b")
    door.broker.store.dispatch()
    found = door.pop()
    assert [bodies(find.body) for find in found.finds] == [[b"a", b"b"]]
    assert acknowledge(door.broker, receipt(found, 0), door.client) is None
    hidden = change_invisible_time(door.broker, receipt(found, 1), door.client)
    assert isinstance(hidden, Receipt)
    assert not door.pop().is_found


def test_a_transaction_is_seen_once_it_is_committed(door: Door) -> None:
    half = door.send(b"h", sys_flag=4, TRAN_MSG="true", PGROUP="PG")
    door.broker.store.dispatch()
    assert isinstance(door.pull(), Deferred)
    end = TransactionEnd(
        Resolution.COMMIT, "PG", half.queue_offset, int(half.message_id[-16:], 16), False, "h", None
    )
    end_transaction(door.broker, end, door.memory.clock.millis(), None)
    door.broker.store.dispatch()
    assert bodies(outcome_of(door.pull()).body) == [b"h"]


def test_a_timer_is_taken_back(door: Door) -> None:
    due = door.memory.clock.millis() + 60_000
    timed = door.send(b"t", TIMER_DELIVER_MS=str(due))
    assert timed.recall_handle is not None
    now = door.memory.clock.millis()
    recalled = timers.recall(door.broker, "T", timed.recall_handle, "PG", door.client, now)
    assert outcome_of(recalled).message_id == "t"


def test_it_is_asked_and_administered(door: Door) -> None:
    assert topics.update_topic(door.broker, TopicConfig("New", 2, 2)).called
    assert topics.topic_config(door.broker, "New").config.read_queue_nums == 2
    door.send(b"a", KEYS="k")
    door.broker.store.dispatch()
    assert query.max_offset(door.broker, "T", 0) == 1
    assert offsets.update_offset(door.broker, "G", "T", 0, 1)
    assert offsets.query_offset(door.broker, "G", "T", 0) == 1
    topics.delete_topic(door.broker, "New")
    with pytest.raises(OperationError) as refused:
        topics.topic_config(door.broker, "New")
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST
