"""Messages are found by key, tags and time."""

import pytest

from mqgateway.engine.store import key_query, schema
from mqgateway.engine.store.key_query import CANDIDATES_MAX
from tests.support.engine.store.stores import Bench, drain, message


def test_queries_are_by_key_tag_and_time_and_oldest_first() -> None:
    bench = Bench()
    begin = bench.clock.millis()
    for i in range(4):
        bench.put(message(body=b"%d" % i, properties={"KEYS": f"all only{i}", "TAGS": "ab"[i % 2]}))
        bench.clock.advance(1000)

    def found(
        key: str, start: int = 0, end: int = 1 << 60, index_type: str = "K", count: int = 9
    ) -> list[bytes]:
        result = bench.store.query("orders", key, count, start, end, index_type)
        return [schema.RECORD.parse(record).body for record in result.records]

    assert found("all") == [b"0", b"1", b"2", b"3"]
    assert found("all", count=2) == [b"2", b"3"]
    assert found("only2") == [b"2"]
    assert found("b", index_type="T") == [b"1", b"3"]
    assert found("all", begin + 1000, begin + 2000) == [b"1", b"2"]
    assert found("none") == []
    result = bench.store.query("orders", "all", 9, 0, 1 << 60)
    assert result.last_update_timestamp == begin + 3000
    assert result.last_update_offset == bench.store.consume_queue_units("orders", 0, 3, 1)[0][0]


def test_without_an_index_nothing_is_found_by_key() -> None:
    bench = Bench(message_index_enable=False)
    bench.put(message(properties={"KEYS": "k"}))
    assert bench.store.query("orders", "k", 9, 0, 1 << 60).records == []
    assert len(drain(bench.restart().store)) == 1


def test_messages_that_have_gone_with_the_log_are_not_found() -> None:
    bench = Bench()
    bench.put(*[message(body=b"x" * 800, properties={"KEYS": "k"}) for _ in range(9)])
    assert len(bench.store.query("orders", "k", 64, 0, 1 << 60).records) == 9
    bench.store._log.files.drop_first(1)
    kept = bench.store.query("orders", "k", 64, 0, 1 << 60).records
    assert 0 < len(kept) < 9
    bench.clock.advance(5000)
    bench.put(message(properties={"KEYS": "k"}))
    assert len(bench.store.query("orders", "k", 64, bench.clock.millis(), 1 << 60).records) == 1


def test_reading_the_index_can_be_switched_off() -> None:
    bench = Bench(index_file_read_enable=False)
    bench.put(message(properties={"KEYS": "k"}))
    assert bench.store.query("orders", "k", 9, 0, 1 << 60) == ([], 0, 0)


def bodies(bench: Bench, topic: str, key: str, most: int = 9, index_type: str = "K") -> list[bytes]:
    result = bench.store.query(topic, key, most, 0, 1 << 60, index_type)
    return [schema.RECORD.parse(record).body for record in result.records]


def test_query_passes_over_another_topic_of_the_same_hash() -> None:
    """`AaTopic#BB` and `BBTopic#BB` have one hash in Java, as have `Aa` and `BB`."""
    bench = Bench()
    bench.put(
        message(topic="BBTopic", body=b"other", properties={"KEYS": "BB", "TAGS": "BB"}),
        message(topic="AaTopic", body=b"own", properties={"KEYS": "BB", "TAGS": "BB"}),
    )
    assert bodies(bench, "AaTopic", "BB") == [b"own"]
    assert bodies(bench, "BBTopic", "BB") == [b"other"]
    assert bodies(bench, "AaTopic", "BB", index_type="T") == [b"own"]
    assert bodies(bench, "AaTopic", "Aa") == bodies(bench, "AaTopic", "Aa", index_type="T") == []
    assert bodies(bench.restart(), "AaTopic", "BB") == [b"own"]


def test_query_by_unique_key_passes_over_messages_that_have_it_among_their_keys() -> None:
    bench = Bench()
    bench.put(
        message(body=b"keys", properties={"KEYS": "a  X b", "UNIQ_KEY": "Y"}),
        message(body=b"unique", properties={"UNIQ_KEY": "X"}),
    )
    assert bodies(bench, "orders", "X", index_type="U") == [b"unique"]
    assert bodies(bench, "orders", "X") == [b"keys", b"unique"]
    assert bodies(bench, "orders", "b") == [b"keys"]
    assert bodies(bench, "orders", "a  X") == bodies(bench, "orders", "T#a") == []


def test_query_counts_matching_messages_only() -> None:
    bench = Bench()
    bench.put(*[message(body=b"%d" % i, properties={"KEYS": "BB BB", "UNIQ_KEY": "BB"}) for i in range(5)])
    bench.put(*[message(properties={"KEYS": "Aa"}) for _ in range(300)])
    assert bodies(bench, "orders", "BB", most=2) == [b"3", b"4"]
    assert len(bodies(bench, "orders", "BB", most=64)) == 5
    assert bodies(bench, "orders", "BB", most=0) == bodies(bench, "orders", "BB", most=-1) == []


def test_query_reads_a_bounded_number_of_records_of_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.put(message(properties={"KEYS": "BB"}))
    bench.put(*[message(properties={"KEYS": "Aa"}) for _ in range(CANDIDATES_MAX + 100)])
    read: list[int] = []
    query = bench.store._key_query
    record_at = query._record_at

    def counted(offset: int, may_wait: bool) -> bytes | None:
        read.append(offset)
        return record_at(offset, may_wait)

    monkeypatch.setattr(query, "_record_at", counted)
    assert bodies(bench, "orders", "BB") == []
    assert len(read) == len(set(read)) == CANDIDATES_MAX
    read.clear()
    monkeypatch.setattr(key_query, "CANDIDATE_BYTES_MAX", 1)
    assert bodies(bench, "orders", "BB") == []
    assert len(read) == 9
