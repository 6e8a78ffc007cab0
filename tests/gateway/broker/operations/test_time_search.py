"""Records of Kafka found by timestamp: the first at or after a time, and the one with the largest."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.record_batches.batches import LOG_APPEND_TIME, build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.broker.operations import OperationError, Reason, TimedOffset, Use
from tests.gateway.broker.operations import test_batches
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.producing import later


class Scene(test_batches.Scene):
    """A broker with topic T of RocketMQ and topic K of Kafka, which is searched."""

    def at_time(self, timestamp: int, topic: str = "K") -> TimedOffset | None:
        return found(self.operations.batches.at_time(self.permit(Use.QUERY), topic, 0, timestamp))

    def latest(self, topic: str = "K") -> TimedOffset | None:
        return found(self.operations.batches.latest_time(self.permit(Use.QUERY), topic, 0))

    def put(self, *times: int, topic: str = "K", **more: Any) -> int:
        """Append a batch of records with these timestamps; return its offset."""
        records = [Record(b"k", b"v", (), time - times[0], index) for index, time in enumerate(times)]
        data = bytes(build_batch(records, **{"base_timestamp": times[0], **more}))
        return self.append(data, topic).base_offset


def found(search: Deferred[TimedOffset | None]) -> TimedOffset | None:
    """Return the result of a search that has ended."""
    [result] = later(search)
    return result


@pytest.mark.parametrize("topic", ["K", "T"])
def test_time_gives_the_first_record_although_timestamps_go_back(topic: str) -> None:
    scene = Scene()
    now = scene.broker.clock.millis()
    times = [now - 50, now - 90, now - 10, now - 70, now, now - 5]
    for start in (0, 2, 4):
        scene.put(*times[start : start + 2], topic=topic)
    for timestamp in range(now - 95, now + 5):
        first = next((at for at, time in enumerate(times) if time >= timestamp), None)
        expected = None if first is None else TimedOffset(first, times[first])
        assert scene.at_time(timestamp, topic) == expected
    assert scene.latest(topic) == TimedOffset(4, now)


@pytest.mark.parametrize("topic", ["K", "T"])
def test_time_ahead_of_the_clock_is_found_within_the_limit(topic: str) -> None:
    scene = Scene()
    now = scene.broker.clock.millis()
    scene.put(now + 3_500_000, topic=topic)
    for minute in range(1, 60):
        scene.memory.clock.advance(60_000)
        scene.put(now + minute * 60_000, topic=topic)
    assert scene.at_time(now + 3_400_000, topic) == TimedOffset(0, now + 3_500_000)
    assert scene.latest(topic) == TimedOffset(59, now + 59 * 60_000)
    assert scene.at_time(now + 3_500_001, topic) == TimedOffset(59, now + 59 * 60_000)


def test_search_reads_no_record_stored_before_the_limit_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    begin = scene.broker.clock.millis()
    for hour in range(300):
        scene.put(begin + hour * 3_600_000)
        scene.memory.clock.advance(3_600_000)
    read: list[int] = []
    times = scene.broker.store.record_times
    original = times.read

    def counted(topic: str, queue_id: int, offset: int, end: int, *, may_wait: bool = True) -> Any:
        read.append(offset)
        return original(topic, queue_id, offset, end, may_wait=may_wait)

    monkeypatch.setattr(times, "read", counted)
    assert scene.at_time(begin + 250 * 3_600_000) == TimedOffset(250, begin + 250 * 3_600_000)
    assert scene.latest() == TimedOffset(299, begin + 299 * 3_600_000)
    assert len(read) == 2 and min(read) >= 248


def test_records_without_timestamps_are_not_found_by_time() -> None:
    scene = Scene()
    assert scene.latest() is None
    scene.put(-1, -1)
    assert scene.latest() is None and scene.at_time(0) is None
    now = scene.broker.clock.millis()
    scene.put(now - 9_000_000)
    scene.memory.clock.advance(8_000_000)
    scene.put(-1)
    assert scene.at_time(0) == scene.latest() == TimedOffset(2, now - 9_000_000)


def test_records_with_append_time_have_the_time_of_their_batch() -> None:
    scene = Scene()
    now = scene.broker.clock.millis()
    scene.put(now - 100, now - 50, flags=LOG_APPEND_TIME, max_timestamp=now)
    assert scene.at_time(now - 10) == scene.latest() == TimedOffset(0, now)


def test_compressed_batch_is_searched_for_its_first_record_of_a_time() -> None:
    scene = Scene()
    now = scene.broker.clock.millis()
    scene.put(*range(now - 500, now), compression=CompressionType.GZIP)
    assert scene.at_time(now - 100) == TimedOffset(400, now - 100)
    assert scene.latest() == TimedOffset(499, now - 1)


def test_search_of_an_unknown_queue_is_refused() -> None:
    scene = Scene()
    for topic in ("Gone", "K"):
        with pytest.raises(OperationError) as refused:
            scene.operations.batches.at_time(scene.permit(Use.QUERY), topic, 7, 0)
        assert refused.value.reason is Reason.TOPIC_NOT_EXIST


@pytest.mark.parametrize("is_latest", [False, True])
def test_search_resumes_once_a_worker_has_read_what_is_not_in_memory(
    monkeypatch: pytest.MonkeyPatch, is_latest: bool
) -> None:
    scene = Scene()
    now = scene.broker.clock.millis()
    for at in range(300):
        scene.put(now + at)
    cold = ColdStore(scene.broker.store, monkeypatch, 4, names=("get", "offset_by_time"))
    batches, permit = scene.operations.batches, scene.permit(Use.QUERY)
    search = batches.latest_time(permit, "K", 0) if is_latest else batches.at_time(permit, "K", 0, now + 299)
    results = later(search)
    assert results == [] and cold.bring() == 4
    assert results == [TimedOffset(299, now + 299)] and not cold.waits


def test_search_ends_when_its_connection_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    now = scene.broker.clock.millis()
    scene.put(now)
    cold = ColdStore(scene.broker.store, monkeypatch, 1, names=("offset_by_time",))
    results = later(scene.operations.batches.at_time(scene.permit(Use.QUERY), "K", 0, now))
    scene.client.is_open = False
    cold.bring()
    assert results == [None]
