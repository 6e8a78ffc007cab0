"""Dispatch requests, and what a record says for them."""

from __future__ import annotations

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import SysFlag
from mqgateway.engine.store.dispatch_request import (
    DispatchRequest,
    KeyedBatch,
    enters_queue,
    expanded,
    parse_delay_levels,
    request_of,
)
from tests.support.engine.store.stores import Bench, message

LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


def test_delay_levels_are_parsed() -> None:
    levels = parse_delay_levels(LEVELS)
    assert len(levels) == 18
    assert (levels[0], levels[4], levels[17]) == (1000, 60_000, 7_200_000)
    assert parse_delay_levels("1d") == [86_400_000]


@pytest.mark.parametrize("text", ["1x", "s", "1s five", "-1s"])
def test_malformed_delay_level_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match="messageDelayLevel"):
        parse_delay_levels(text)


def test_prepared_and_rolled_back_messages_enter_no_queue() -> None:
    assert enters_queue(0) and enters_queue(SysFlag.TRANSACTION_COMMIT)
    assert not enters_queue(SysFlag.TRANSACTION_PREPARED)
    assert not enters_queue(SysFlag.TRANSACTION_ROLLBACK)


def fields(request: DispatchRequest) -> tuple[object, ...]:
    """Return all fields of a request, to be compared."""
    return (
        request.topic,
        request.queue,
        request.properties,
        request.sys_flag,
        request.queue_offset,
        request.physical_offset,
        request.size,
        request.store_timestamp,
    )


def test_request_of_record_equals_request_of_put() -> None:
    bench = Bench()
    put = bench.store.put(message(properties={"KEYS": "k"}))
    (request,) = bench.store._dispatch.waiting
    bench.store.dispatch()
    read = bench.store.look_up(put.physical_offset)
    assert read is not None
    again = request_of(read, request.queue)
    assert fields(again) == fields(request)


ROWS = [(100, b"UNIQ_KEY\1A1\2"), (110, b"UNIQ_KEY\1B2\2"), (120, b"TAGS\1t\2"), (130, b"UNIQ_KEY\1C3\2")]


def test_batch_is_split_where_a_message_has_more_than_a_unique_key() -> None:
    queue = Bench().store._queues.open("orders", 0)
    request = DispatchRequest("orders", queue, ROWS, 0, 7, 1000, 460, 5)
    keyed, tagged, last = expanded(request, ROWS, is_keyed=True)
    assert isinstance(keyed.properties, KeyedBatch)
    assert (keyed.properties.sizes, keyed.properties.keys) == ([100, 110], [b"A1", b"B2"])
    assert (keyed.queue_offset, keyed.physical_offset, keyed.size) == (7, 1000, 210)
    assert (tagged.queue_offset, tagged.physical_offset, tagged.size) == (9, 1210, 120)
    assert tagged.properties == {"TAGS": "t"}
    assert (last.queue_offset, last.physical_offset, last.size) == (10, 1330, 130)


def test_batch_is_split_into_single_messages_if_a_view_reads_properties() -> None:
    queue = Bench().store._queues.open("orders", 0)
    request = DispatchRequest("orders", queue, ROWS, 0, 7, 1000, 460, 5)
    found = expanded(request, ROWS, is_keyed=False)
    assert [one.queue_offset for one in found] == [7, 8, 9, 10]
    assert found[0].properties == {"UNIQ_KEY": "A1"}
