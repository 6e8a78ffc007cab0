"""Kafka's requests for messages that the local log has deleted and a tier has."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.apis import APIS, FETCH
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.support.gateway.broker.tiered import BrokerTier
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    fetch_request,
    produce_request,
    produced,
    values_in,
)

COUNT = 60
EARLIEST = -2
TOPIC = "batched"


def filled(tier: BrokerTier) -> tuple[KafkaBroker, list[bytes], int, list[int]]:
    """Return a broker whose batches of two records are mostly in the tier only, all values, the local begin
    and the times of the batches."""
    broker = KafkaBroker(**tier.given)
    kinds = {"queue.type": "BatchCQ", "message.format": "kafka"}
    config = TopicConfig(TOPIC, read_queue_nums=1, write_queue_nums=1, attributes=kinds)
    broker.broker.tables.topics.put(config)
    values, times = list[bytes](), list[int]()
    for number in range(0, COUNT, 2):
        pair = [b"%d " % each + b"." * 150 for each in (number, number + 1)]
        times.append(broker.clock.millis())
        data = batch_of_values(*pair, now=times[-1])
        assert produced(broker, produce_request(TOPIC, data)).error_code == 0  # type: ignore[arg-type]
        broker.broker.store.dispatch()
        values += pair
        broker.clock.advance(1000)
    local = tier.move(broker.broker, TOPIC)
    assert local > COUNT // 2
    return broker, values, local, times


def fetch(broker: KafkaBroker, offset: int) -> Any:
    """Return the partition of an answer, whose records are chunks until they are written."""
    header = RequestHeader(APIS[FETCH].key, 12, 1, "tester")
    call = KafkaCall(header, broker.peer, Address("10.0.0.1", 9092), broker.operations)
    answers = list[Any]()
    answer = broker.service.handlers[FETCH](call, fetch_request(TOPIC, offset))
    if isinstance(answer, Deferred):
        answer.addCallback(answers.append)
    else:
        answers.append(answer)
    [topic] = answers[0].responses
    [partition] = topic.partitions
    partition.records = b"".join(map(bytes, partition.records))
    return partition


def offset_at(broker: KafkaBroker, timestamp: int) -> tuple[int, int]:
    """Return error and offset for a time, or for one of the special ones."""
    wanted = [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, -1, timestamp)])]
    answer = broker.ask(ListOffsetsRequest(-1, 0, wanted, 1000), 10)
    [partition] = answer.topics[0].partitions
    return partition.error_code, partition.offset


@pytest.fixture
def tier() -> BrokerTier:
    return BrokerTier()


def test_fetches_read_from_the_tier_into_the_local_log(tier: BrokerTier) -> None:
    broker, values, _, _ = filled(tier)
    found, offset = list[tuple[int, bytes]](), 0
    while offset < COUNT:
        answer = fetch(broker, offset)
        assert (answer.error_code, answer.log_start_offset, answer.high_watermark) == (0, 0, COUNT)
        found += values_in(answer)
        offset = found[-1][0] + 1
    assert found == list(enumerate(values))


def test_offsets_are_listed_by_time(tier: BrokerTier) -> None:
    broker, _, _, times = filled(tier)
    assert offset_at(broker, times[3]) == (0, 6)
    assert offset_at(broker, times[3] + 1) == (0, 8)
    assert offset_at(broker, EARLIEST) == (0, 0)


def test_fetches_of_the_tier_are_empty_and_others_are_not_while_it_is_away(tier: BrokerTier) -> None:
    """An empty answer without an error keeps the consumer's offset; the error of a search by time is one
    that clients retry."""
    broker, values, local, times = filled(tier)
    tier.break_off()
    answer = fetch(broker, 3)
    assert (answer.error_code, answer.log_start_offset, answer.high_watermark) == (0, 0, COUNT)
    assert values_in(answer) == []
    assert offset_at(broker, times[3])[0] == ErrorCode.REQUEST_TIMED_OUT
    assert values_in(fetch(broker, local))[0] == (local, values[local])
    data = batch_of_values(b"fresh", now=broker.clock.millis())
    assert produced(broker, produce_request(TOPIC, data)).error_code == 0  # type: ignore[arg-type]
    tier.recover()
    assert values_in(fetch(broker, 3))[0] == (2, values[2])
    assert offset_at(broker, times[3]) == (0, 6)
