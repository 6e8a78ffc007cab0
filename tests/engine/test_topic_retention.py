"""Retention by topic: what goes by time, by bytes and by both, and that it takes no time."""

from __future__ import annotations

import time

import pytest

from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.write_gate import WriteGate
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.topic_retention import TopicRetention
from tests.engine.store.test_cold import cold_bench
from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import Bench, drain, message

INTERVAL = 300_000


class Scene:
    """A store with the topics `orders`, `other` and `batched`, of which one has limits."""

    def __init__(self, bench: Bench | None = None, topic: str = "orders", **attributes: str) -> None:
        self.bench = bench or Bench()
        self.topic = topic
        names = {name.replace("_", "."): value for name, value in attributes.items()}
        self.config = TopicConfig(topic, attributes=names)
        self.configs = [TopicConfig("other"), self.config]
        store = self.bench.store
        self.retention = TopicRetention(store._options, store, self.bench.clock, lambda: self.configs)

    def put(self, count: int, size: int = 10, topic: str = "") -> None:
        self.bench.put(*[message(topic or self.topic, 0, bytes(size)) for _ in range(count)])

    def wait(self, millis: int) -> None:
        """Let time pass, with a tick at its end and as many as a look takes."""
        self.bench.clock.advance(millis)
        self.bench.store.tick()
        for _ in range(20):
            self.retention.tick()

    def offsets(self) -> list[int]:
        return [one.queue_offset for one in drain(self.bench.store, self.topic)]


@pytest.mark.parametrize("topic", ["orders", "batched"])
def test_messages_go_when_they_are_old_enough(topic: str) -> None:
    scene = Scene(topic=topic, kafka_retention_ms="600000")
    scene.put(3)
    scene.put(1, topic="other")
    scene.wait(INTERVAL)
    assert scene.offsets() == [0, 1, 2]
    scene.put(2)
    scene.wait(INTERVAL)
    scene.wait(INTERVAL - 1)
    assert scene.offsets() == [0, 1, 2, 3, 4]
    scene.wait(1)
    assert scene.offsets() == [3, 4] and scene.retention.deleted == 3
    scene.wait(INTERVAL)
    assert scene.offsets() == [] and scene.bench.store.min_offset(topic, 0) == 5
    assert scene.bench.store.min_offset("other", 0) == 0
    assert scene.bench.kill().store.min_offset(topic, 0) == 5


@pytest.mark.parametrize(
    ("attributes", "left"),
    [
        ({"reserve_time": "1"}, []),
        ({"reserve_time": "2"}, [0]),
        ({"reserve_time": "0"}, [0]),
        ({"reserve_time": "-1"}, [0]),
        ({"reserve_time": "1", "kafka_retention_ms": "-1"}, []),
        ({"reserve_time": "9", "kafka_retention_ms": "1000"}, []),
        ({"kafka_retention_ms": "-1", "kafka_retention_bytes": "-1"}, [0]),
        ({"kafka_retention_ms": "1000", "kafka_cleanup_policy": "compact"}, [0]),
        ({"kafka_retention_ms": "1000", "kafka_cleanup_policy": "compact,delete"}, []),
        ({"kafka_retention_ms": "1000", "cleanup_policy": "COMPACTION"}, [0]),
        ({"kafka_retention_ms": "much"}, [0]),
        ({}, [0]),
    ],
)
def test_attributes_decide_on_the_time(attributes: dict[str, str], left: list[int]) -> None:
    scene = Scene(**attributes)
    scene.put(1)
    scene.wait(3_600_001)
    assert scene.offsets() == left


def test_batches_of_kafka_go_whole() -> None:
    scene = Scene(topic="batched", kafka_retention_ms="400000")
    fill_kafka(scene.bench, 3)
    scene.wait(INTERVAL)
    fill_kafka(scene.bench, 4)
    scene.bench.store.move_start("batched", 0, 1)
    scene.wait(INTERVAL)
    assert scene.offsets() == [3, 4, 5, 6]


@pytest.mark.parametrize("topic", ["orders", "batched"])
def test_at_least_so_many_bytes_are_kept(topic: str) -> None:
    scene = Scene(topic=topic)
    scene.put(10)
    size = scene.bench.store.consume_queue_units(topic, 0, 0, 1)[0][1]
    scene.config.attributes["kafka.retention.bytes"] = str(3 * size)
    scene.wait(INTERVAL)
    assert scene.offsets() == [7, 8, 9]
    scene.put(5)
    scene.config.attributes["kafka.retention.bytes"] = str(3 * size + 1)
    scene.wait(INTERVAL)
    assert scene.offsets() == [11, 12, 13, 14]
    scene.config.attributes["kafka.retention.bytes"] = "0"
    scene.wait(INTERVAL)
    assert scene.offsets() == [] and scene.retention.deleted == 15


def test_sizes_are_right_whatever_moves_the_start_meanwhile() -> None:
    scene = Scene(kafka_retention_bytes="1000")
    store = scene.bench.store
    for number in range(60):
        scene.put(3, 10 + number)
        if number % 4 == 0:
            store.move_start("orders", 0, store.min_offset("orders", 0) + 1)
        if number % 7 == 0:
            store.admin.delete_expired_files()
        scene.wait(INTERVAL)
        kept = sum(one.size for one in drain(store))
        assert 1000 <= kept < 1200 or number < 5


def test_topic_that_is_made_again_is_counted_again() -> None:
    scene = Scene(kafka_retention_bytes="300")
    scene.put(10)
    scene.wait(INTERVAL)
    scene.bench.store.admin.delete_topics(["orders"])
    scene.put(9)
    scene.wait(INTERVAL)
    assert sum(one.size for one in drain(scene.bench.store)) >= 300


def test_clock_that_was_set_forward_deletes_nothing() -> None:
    scene = Scene(kafka_retention_ms="3600000")
    scene.put(2)
    scene.bench.clock.set_wall(scene.bench.clock.millis() + 86_400_000)
    scene.wait(INTERVAL)
    assert scene.offsets() == [0, 1]


def test_store_that_takes_no_writes_is_left_alone() -> None:
    scene = Scene(kafka_retention_ms="1000", kafka_retention_bytes="0")
    scene.put(2)
    store = scene.bench.store
    store.gate = WriteGate("a slave")
    scene.wait(INTERVAL)
    assert scene.offsets() == [0, 1]
    store.gate = None
    scene.wait(INTERVAL)
    assert scene.offsets() == []


def test_look_waits_for_what_is_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(kafka_retention_ms="1000")
    scene.put(2)
    store = scene.bench.store
    brought: list[object] = []
    monkeypatch.setattr(type(store), "bring", lambda store, cold, done: brought.append(done))
    times = type(store).store_time

    def store_time(self: object, *where: object) -> int:
        if not where[3] and not brought:
            raise ColdRead(0, [])
        return int(times(store, *where))  # type: ignore[arg-type]

    monkeypatch.setattr(type(store), "store_time", store_time)
    scene.wait(INTERVAL)
    assert scene.offsets() == [0, 1] and len(brought) == 1
    done = brought[0]
    assert callable(done)
    done()
    scene.retention.tick()
    assert scene.offsets() == []


def test_look_at_sizes_waits_for_units_that_are_not_in_memory() -> None:
    bench, disk, worker = cold_bench()
    scene = Scene(bench, kafka_retention_bytes="2000")

    def warm_units() -> set[tuple[str, int]]:
        return {page for page in disk.warm if "consumequeue" in page[0]}

    before = warm_units()
    scene.wait(INTERVAL)
    assert worker.waiting and warm_units() == before and scene.retention.deleted == 0
    while worker.perform():
        scene.retention.tick()
    for _ in range(20):
        scene.retention.tick()
    kept = sum(one.size for one in drain(bench.store))
    assert scene.retention.deleted > 0 and 2000 <= kept < 3000


def test_look_at_many_topics_is_done_in_short_slices() -> None:
    scene = Scene(kafka_retention_ms="1000")
    scene.configs = [
        TopicConfig(f"topic{number}", attributes={"kafka.retention.ms": "1000"} if number % 10 == 0 else {})
        for number in range(10_000)
    ]
    for number in range(0, 10_000, 10):
        scene.bench.store.put(message(f"topic{number}"))
    scene.bench.store.dispatch()
    scene.bench.clock.advance(INTERVAL)
    ticks, slowest = 0, 0.0
    real = time.perf_counter
    scene.retention._clock = _RealClock(scene.bench.clock)  # type: ignore[assignment]
    while scene.bench.store.min_offset("topic9990", 0) == 0 and ticks < 10_000:
        began = real()
        scene.retention.tick()
        slowest = max(slowest, real() - began)
        ticks += 1
    assert scene.bench.store.min_offset("topic9990", 0) == 1
    # A fast machine needs few slices, and a busy one is late: 0.05 s is usual.
    assert ticks > 1 and slowest < 0.5


class _RealClock:
    """The wall clock of a test, and a monotonic clock that is real within a tick."""

    def __init__(self, clock: object) -> None:
        self._clock = clock

    def millis(self) -> int:
        return int(self._clock.millis())  # type: ignore[attr-defined]

    def monotonic(self) -> float:
        return INTERVAL / 1000 * 2 + time.perf_counter() % 1000
