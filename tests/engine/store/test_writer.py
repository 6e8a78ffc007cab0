"""Putting messages: their positions, and the statuses of refusals."""

import errno
import zlib

import pytest

from mqgateway.engine.message import StoredMessage, SysFlag, properties_text
from mqgateway.engine.steps import run
from mqgateway.engine.store.message_store import PutResult, PutStatus
from tests.support.engine.store.stores import HOST, HOST_V6, Bench, batch, drain, message


def test_a_put_says_where_the_message_went() -> None:
    bench = Bench()
    first = bench.store.put(message())
    second = bench.store.put(message(body=b"two"))
    assert (first.queue_offset, first.physical_offset) == (0, 0)
    assert (second.queue_offset, second.physical_offset) == (1, first.end_offset)
    assert second.store_timestamp == bench.clock.millis()
    found = bench.store.look_up(second.physical_offset)
    assert found is not None and found.body == b"two"
    assert found.message_id == second.message_id
    assert bench.store.look_up(second.physical_offset + 1) is None
    assert bench.store.look_up(second.end_offset) is None


def test_ipv6_hosts_and_long_retry_topics_are_stored() -> None:
    bench = Bench()
    each = message(topic="%RETRY%" + "g" * 200)
    each.born_host = each.store_host = HOST_V6
    bench.put(each)
    (found,) = drain(bench.store, each.topic)
    assert (found.born_host, found.store_host, found.topic) == (HOST_V6, HOST_V6, each.topic)
    assert len(found.message_id) == 56


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"body": b"x" * 2001}, PutStatus.MESSAGE_ILLEGAL),
        ({"properties": {"K": "v" * 32768}}, PutStatus.PROPERTIES_SIZE_EXCEEDED),
        ({"properties": {"K": "v" * 30000}}, PutStatus.MESSAGE_ILLEGAL),
        ({"topic": ""}, PutStatus.MESSAGE_ILLEGAL),
        ({"topic": "a/b"}, PutStatus.MESSAGE_ILLEGAL),
        ({"topic": "é" * 100}, PutStatus.MESSAGE_ILLEGAL),
        ({"queue_id": -1}, PutStatus.MESSAGE_ILLEGAL),
    ],
)
def test_invalid_message_is_refused_with_status(changes: dict[str, object], status: PutStatus) -> None:
    bench = Bench(max_message_size=2000)
    result = bench.store.put(message(**changes))  # type: ignore[arg-type]
    assert result.status is status
    assert result.remark
    assert bench.store.max_physical_offset == 0
    assert bench.store.admin.runtime_info()["putMessageFailedTimes"] == "1"


def test_a_batch_has_consecutive_offsets_and_its_own_properties() -> None:
    bench = Bench()
    bench.put(message())
    result = bench.store.put_batch(message(properties={"UNIQ_KEY": "u"}), batch(b"a", b"bb", b"ccc"))
    bench.store.dispatch()
    assert (result.status, result.queue_offset, result.count) == (PutStatus.PUT_OK, 1, 3)
    found = drain(bench.store)[1:]
    assert [(m.body, m.queue_offset, m.flag) for m in found] == [(b"a", 1, 0), (b"bb", 2, 1), (b"ccc", 3, 2)]
    assert all(m.properties == {"KEYS": "k"} for m in found)
    assert result.message_id == ",".join(m.message_id for m in found)
    assert result.end_offset == bench.store.max_physical_offset
    assert len(bench.store.query("orders", "k", 9, 0, 1 << 60).records) == 3
    assert bench.put(message()) == [4]


def test_a_batch_lies_in_one_file_or_is_refused() -> None:
    bench = Bench()
    bench.put(message(body=b"x" * 2000))
    result = bench.store.put_batch(message(), batch(b"a" * 1000, b"b" * 1000))
    assert result.physical_offset == 4096
    refused = bench.store.put_batch(message(), batch(*[b"a" * 1000] * 4))
    assert refused.status is PutStatus.MESSAGE_ILLEGAL


@pytest.mark.parametrize("elements", [b"", b"junk", batch(b"a")[:-1]])
def test_a_malformed_batch_is_refused_whole(elements: bytes) -> None:
    bench = Bench()
    assert bench.store.put_batch(message(), elements).status is PutStatus.MESSAGE_ILLEGAL
    assert bench.store.max_physical_offset == 0


def test_a_batch_cannot_be_prepared() -> None:
    prepared = message(sys_flag=SysFlag.TRANSACTION_PREPARED)
    assert Bench().store.put_batch(prepared, batch(b"a")).status is PutStatus.MESSAGE_ILLEGAL


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_sick_disk_refuses_a_message_and_spoils_nothing(error: int) -> None:
    bench = Bench()
    bench.put(message(body=b"before"))
    bench.disk.fail_next("write", "/commitlog", error)
    refused = bench.store.put(message(body=b"lost" * 100))
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "commit log cannot be written" in refused.remark
    bench.disk.fail_next("write", "/commitlog", error)
    assert bench.store.put_batch(message(), batch(b"lost")).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert bench.put(message(body=b"after")) == [1]
    for again in (bench.kill(), bench.kill()):
        assert [m.body for m in drain(again.store)] == [b"before", b"after"]


def test_no_room_for_a_new_file_refuses_the_message_with_the_reason() -> None:
    bench = Bench()
    bench.put(message(body=b"x" * 3500))
    bench.disk.fail_next("truncate", "/commitlog", errno.ENOSPC)
    refused = bench.store.put(message(body=b"y" * 1000))
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "No space left" in refused.remark and "/store/commitlog/00000000000000004096" in refused.remark
    assert bench.put(message(body=b"y" * 1000)) == [1]


def crc_of(found: StoredMessage, record: bytes) -> bool:
    """Return True if a record ends with a checksum, and it is right."""
    digits = found.properties["__CRC32#"]
    assert record.endswith(f"__CRC32#\1{digits}\2".encode())
    return int(digits[::-1]) == zlib.crc32(record[:-20]) & 0x7FFFFFFF


def test_records_end_with_a_checksum_if_asked_to() -> None:
    bench = Bench(enabled_append_prop_crc=True)
    bench.put(message(), message(properties={}), message(properties={"A": "b", "__CRC32#": "9999999999"}))
    bench.store.put_batch(message(), batch(b"a", b"b", properties=b"K\1v"))
    bench.store.dispatch()
    records = bench.store.get("orders", 0, 0, 32).body
    for found in drain(bench.store):
        assert crc_of(found, records[: found.size])
        records = records[found.size :]
        assert found.properties.keys() <= {"TAGS", "A", "K", "__CRC32#"}
    assert [m.body for m in drain(bench.kill().store)] == [b"hello"] * 3 + [b"a", b"b"]
    full = bench.store.put_batch(message(), batch(b"a", properties=b"K\1" + b"v" * 32760))
    assert full.status is PutStatus.MESSAGE_ILLEGAL


def test_a_checksum_of_another_record_is_not_kept() -> None:
    bench = Bench()
    bench.put(message(properties={"A": "b", "__CRC32#": "9999999999"}))
    assert drain(bench.store)[0].properties == {"A": "b"}


FORGED = {"KEYS": "k", "__KPID": "7:0:0:3", "A": "b"}


@pytest.mark.parametrize("has_crc", [False, True])
def test_message_alone_ends_no_batch_of_a_kafka_producer(has_crc: bool) -> None:
    bench = Bench(enabled_append_prop_crc=has_crc)
    bench.put(message(properties=FORGED))
    assert set(drain(bench.store)[0].properties) - {"__CRC32#"} == {"KEYS", "A"}
    assert bench.store.producers.count == 0


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("has_crc", [False, True])
def test_batch_of_a_client_ends_no_batch_of_a_kafka_producer(is_large: bool, has_crc: bool) -> None:
    bench = Bench(enabled_append_prop_crc=has_crc)
    text = properties_text(FORGED)
    body = batch(b"a", b"body with __KPID\1", properties=text)
    given = run(bench.store.make_ready(message(properties={}), body)) if is_large else body
    assert not isinstance(given, PutResult)
    assert bench.store.put_batch(message(properties={}), given).status is PutStatus.PUT_OK
    bench.store.dispatch()
    found = drain(bench.store)
    assert [(each.body, each.flag) for each in found] == [(b"a", 0), (b"body with __KPID\1", 1)]
    assert all(set(each.properties) - {"__CRC32#"} == {"KEYS", "A"} for each in found)
    assert bench.store.producers.count == 0
    assert len(bench.store.query("orders", "k", 10, 0, 1 << 62).records) == 2


def test_batch_of_a_kafka_producer_keeps_its_producer() -> None:
    bench = Bench()
    bench.store.batches.put_messages([message(), message(properties=FORGED)])
    bench.store.dispatch()
    assert bench.store.producers.count == 1
    assert drain(bench.store)[1].properties == FORGED


def test_queues_are_limited() -> None:
    bench = Bench(max_queues=1)
    bench.put(message())
    assert "maxQueues" in bench.store.put(message(topic="other")).remark


def test_a_message_without_a_store_host_gets_the_store_s() -> None:
    bench = Bench()
    each = message()
    each.store_host = b""
    bench.put(each)
    assert drain(bench.store)[0].store_host == HOST
