"""Conversations of RocketMQ's clients about a topic in which Kafka's clients have transactions."""

from __future__ import annotations

import pytest

from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.engine.store.expansion import unique_key
from mqgateway.gateway.broker.admin.progress import consume_stats
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import GetMaxOffsetRequestHeader, QueryMessageRequestHeader
from tests.gateway.broker.test_kafka_topics import KAFKA, TOPIC, pulled
from tests.support.engine.store.kafka_records import put_batch, records
from tests.support.engine.store.producing import put_marker
from tests.support.gateway.broker.pop import PopBroker

WAITS = 2
"""The flag of a pull that may be held."""


class TransactionalBroker(PopBroker):
    """A broker with a topic of Kafka and a consumer of it."""

    def __init__(self) -> None:
        super().__init__(store_options={"message_index_enable": True})
        self.add_topic(TOPIC, queues=1, attributes=KAFKA)
        self.subscribe("G", TOPIC)

    def produce(self, producer_id: int, *values: bytes) -> None:
        """Store a batch of a transaction."""
        named = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
        put_batch(self.broker.store, records(*values), topic=TOPIC, flags=TRANSACTIONAL, **named)

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        """Store a marker."""
        put_marker(self.broker.store, producer_id, is_commit, TOPIC)
        self.broker.store.dispatch()


@pytest.fixture
def broker() -> TransactionalBroker:
    """A broker without messages."""
    return TransactionalBroker()


def test_pull_gets_committed_records_only(broker: TransactionalBroker) -> None:
    broker.send(TOPIC, b"first")
    broker.produce(1, b"a", b"b")
    broker.produce(2, b"c")
    broker.send(TOPIC, b"last")
    assert pulled(broker.pull(TOPIC)) == [(0, b"first")]
    assert broker.pull(TOPIC, offset=1).code == ResponseCode.PULL_NOT_FOUND
    broker.end(1, is_commit=True)
    assert pulled(broker.pull(TOPIC, offset=1)) == [(1, b"a"), (2, b"b")]
    broker.end(2, is_commit=False)
    assert pulled(broker.pull(TOPIC, offset=3)) == [(4, b"last")]
    marker = broker.pull(TOPIC, offset=5)
    assert (marker.code, marker.ext["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "7")


def test_waiting_pull_is_answered_by_the_marker_and_not_before(broker: TransactionalBroker) -> None:
    answer = broker.pull(TOPIC, sys_flag=WAITS)
    broker.produce(1, b"a")
    broker.send(TOPIC, b"b")
    broker.wait(6000)  # a check of queues that have grown
    assert answer.waits
    broker.end(1, is_commit=True)
    assert pulled(answer) == [(0, b"a"), (1, b"b")]


def test_pull_passes_over_an_aborted_transaction(broker: TransactionalBroker) -> None:
    answer = broker.pull(TOPIC, sys_flag=WAITS)
    broker.produce(1, b"a", b"b")
    broker.end(1, is_commit=False)
    assert (answer.code, answer.ext["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "3")


def test_pop_gets_committed_records_only(broker: TransactionalBroker) -> None:
    broker.produce(1, b"a")
    broker.produce(2, b"b")
    assert broker.pop(topic=TOPIC) == []
    waiting = broker.ask_pop(topic=TOPIC, poll_time=20_000)
    broker.end(1, is_commit=False)
    assert waiting.waits
    broker.end(2, is_commit=True)
    [message] = broker.popped(waiting)
    assert (message.offset, message.body) == (1, b"b")
    assert broker.ack(message).code == 0
    assert broker.pop(topic=TOPIC) == []


def test_notification_and_peek_see_no_open_transaction(broker: TransactionalBroker) -> None:
    broker.produce(1, b"a")
    assert broker.notify(topic=TOPIC).ext["hasMsg"] == "false"
    assert broker.peek(topic=TOPIC).code == ResponseCode.PULL_NOT_FOUND
    broker.end(1, is_commit=True)
    assert broker.notify(topic=TOPIC).ext["hasMsg"] == "true"


def test_lag_and_greatest_offset_do_not_count_open_transactions(broker: TransactionalBroker) -> None:
    broker.send(TOPIC, b"first")
    broker.produce(1, b"a")
    broker.broker.tables.offsets.commit("G", TOPIC, 0, 1)
    header = GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=0)
    assert broker.ask(RequestCode.GET_MAX_OFFSET, header).ext["offset"] == "1"
    [progress] = consume_stats(broker.broker, "G", TOPIC).offset_table.values()
    assert (progress.consumer_offset, progress.broker_offset) == (1, 1)
    broker.end(1, is_commit=True)
    assert broker.ask(RequestCode.GET_MAX_OFFSET, header).ext["offset"] == "3"


def test_query_by_unique_key_finds_committed_records_only(broker: TransactionalBroker) -> None:
    for producer_id in (1, 2):
        broker.produce(producer_id, b"a")

    def found(offset: int) -> list[int]:
        key = unique_key(TOPIC, 0, offset)
        header = QueryMessageRequestHeader(
            topic=TOPIC, key=key, max_num=9, begin_timestamp=0, end_timestamp=2**62
        )
        answer = broker.ask(RequestCode.QUERY_MESSAGE, header, ext={"_UNIQUE_KEY_QUERY": "true"})
        return [message.queue_offset for message in answer.messages] if answer.code == 0 else []

    assert (found(0), found(1)) == ([], [])
    broker.end(1, is_commit=True)
    assert (found(0), found(1)) == ([0], [])
    broker.end(2, is_commit=False)
    assert (found(0), found(1)) == ([0], [])
