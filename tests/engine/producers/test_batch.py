"""A producer's batch as headers and properties name it."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import SysFlag
from mqgateway.engine.producers.batch import (
    SEQUENCE_MAX,
    Produced,
    ProducerBatch,
    of_header,
    of_record,
    of_text,
)
from mqgateway.engine.producers.markers import Marker, control_batch
from mqgateway.engine.record_batches.batches import CONTROL, TRANSACTIONAL, assigned, build_batch
from mqgateway.engine.record_batches.records import Record


def header(count: int = 3, **more: int) -> bytearray:
    records = [Record(None, b"v", (), index, index) for index in range(count)]
    return build_batch(records, base_timestamp=0, **more)


def fields(batch: Produced | None) -> tuple[int, ...] | None:
    if not isinstance(batch, ProducerBatch):
        return None
    return batch.producer_id, batch.epoch, batch.first_sequence, batch.count, batch.last_offset


def test_header_of_an_idempotent_batch_is_read() -> None:
    data = header(producer_id=7, producer_epoch=2, base_sequence=9)
    batch = of_header(assigned(bytes(data), 100, 0))
    assert fields(batch) == (7, 2, 9, 3, 102)
    assert batch is not None and (batch.last_sequence, batch.text) == (11, "7:2:9:3")


@pytest.mark.parametrize(
    "data",
    [
        header(),
        header(producer_id=7, producer_epoch=0),
        header(producer_id=7, base_sequence=0),
        header(1, producer_id=7, producer_epoch=0, flags=CONTROL | TRANSACTIONAL),
        header(producer_id=7, producer_epoch=0, base_sequence=0)[:60],
    ],
)
def test_header_without_producer_or_sequence_names_no_batch(data: bytearray) -> None:
    assert of_header(data) is None


def test_sequences_wrap_to_zero() -> None:
    assert ProducerBatch(1, 0, SEQUENCE_MAX, 1).last_sequence == SEQUENCE_MAX
    assert ProducerBatch(1, 0, SEQUENCE_MAX, 2).last_sequence == 0
    assert ProducerBatch(1, 0, SEQUENCE_MAX - 1, 5).last_sequence == 2


def test_property_of_a_message_names_the_batch_that_it_ends() -> None:
    batch = ProducerBatch(7, 2, 9, 3)
    assert fields(of_record(0, {"__KPID": batch.text}, b"", 102)) == (7, 2, 9, 3, 102)
    assert of_record(0, {"KEYS": "k"}, b"", 102) is None


def test_whole_batch_counts_by_its_header() -> None:
    data = bytes(header(producer_id=7, producer_epoch=2, base_sequence=9))
    properties = {"__KAFKA": "2", "__KPID": "1:1:1:1"}
    assert fields(of_record(SysFlag.INNER_BATCH, properties, data, 0)) == (7, 2, 9, 3, 2)
    assert fields(of_record(0, properties, data, 0)) == (1, 1, 1, 1, 0)
    assert of_record(SysFlag.INNER_BATCH, {"__KPID": "1:1:1:1"}, data, 0) is None


def test_batch_of_a_transaction_says_so() -> None:
    for flags in (0, TRANSACTIONAL):
        batch = of_header(header(producer_id=7, producer_epoch=0, base_sequence=0, flags=flags))
        assert batch is not None and batch.is_transactional == bool(flags)


def test_record_with_a_marker_has_it_only_as_a_batch_of_kafka() -> None:
    marker = Marker(7, 2, True, 1)
    data = control_batch(marker, 0)
    assert of_record(SysFlag.INNER_BATCH, {"__KAFKA": "2"}, data, 9) == marker
    assert of_record(SysFlag.INNER_BATCH, {}, data, 9) is None
    assert of_record(SysFlag.INNER_BATCH, {"__KAFKA": "2"}, bytes(header()), 9) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1:2:3",
        "1:2:3:4:5",
        "1:2:3:x",
        "1:2:3:-4",
        "1:2:3:0",
        "1:32768:3:4",
        f"{1 << 63}:2:3:4",
        "²:2:3:4",
    ],
)
def test_property_that_names_no_batch_is_ignored(text: str) -> None:
    assert of_text(text, 5) is None
