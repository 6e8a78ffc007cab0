"""Messages are found by key, tags and time."""

from mqgateway.engine.store import schema
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
