"""Groups and offsets as record batches of a queue."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from mqgateway.engine.errors import StoreError
from mqgateway.engine.record_batches.batches import assigned, batches
from mqgateway.gateway.broker.operations import OperationError, Reason
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records, Stored
from mqgateway.gateway.kafka.coordinator_topic import CoordinatorTopic, NotReadable, Span
from tests.support.gateway.kafka.groups import Groups


class QueueInMemory:
    """A queue of batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int, bytes]] = []
        self.end = 0
        self.first = 0
        self.error: Exception | None = None
        self.outcomes: list[Deferred[Sequence[Span]]] = []

    def start(self) -> int:
        return self.first

    def append(self, batch: bytearray) -> Deferred[int] | int:
        if self.error is not None:
            return fail(self.error)
        base = self.end
        data = assigned(bytes(batch), base, 0)
        [read] = batches(data)
        self.end = read.last_offset + 1
        self.batches.append((base, self.end, data))
        return base

    def read(self, offset: int) -> list[bytes] | Deferred[Sequence[Span]]:
        if self.outcomes:
            return self.outcomes.pop(0)
        return [data for _, end, data in self.batches if end > offset][:2]

    def release(self, before: int) -> None:
        self.first = before


def offset_of(done: Deferred[int]) -> int:
    """Return the outcome of a write that is done."""
    outcomes: list[int] = []
    done.addCallback(outcomes.append)
    return outcomes[0]


def test_records_written_together_are_one_batch_and_are_read_again() -> None:
    queue = QueueInMemory()
    topic = CoordinatorTopic(queue, lambda: 77, "groups")
    assert offset_of(topic.append(Records([(b"a", b"1"), (b"b", None)]))) == 0
    assert offset_of(topic.append(Records([(b"c", b"3")]))) == 2
    assert len(queue.batches) == 2
    assert list(topic.replay()) == [
        Stored(0, 77, b"a", b"1"),
        Stored(1, 77, b"b", None),
        Stored(2, 77, b"c", b"3"),
    ]
    topic.release(1)
    assert [stored.offset for stored in topic.replay() if stored] == [1, 2]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreError("no space"), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (OperationError(Reason.SLAVE_NOT_AVAILABLE, "no slave"), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (OperationError(Reason.MESSAGE_ILLEGAL, "too large"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_batch_that_is_refused_is_not_written(error: Exception, code: ErrorCode) -> None:
    queue = QueueInMemory()
    queue.error = error
    failures: list[Failure] = []
    CoordinatorTopic(queue, lambda: 0, "groups").append(Records([(b"a", b"1")])).addErrback(failures.append)
    assert isinstance(failures[0].value, NotWritten)
    assert (failures[0].value.code, str(failures[0].value)) == (code, str(error))


def test_fault_is_reported_as_it_is() -> None:
    queue = QueueInMemory()
    queue.error = KeyError("a fault")
    failures: list[Failure] = []
    CoordinatorTopic(queue, lambda: 0, "groups").append(Records([(b"a", b"1")])).addErrback(failures.append)
    assert not isinstance(failures[0].value, NotWritten)


def test_groups_survive_a_restart_by_the_topic() -> None:
    groups = Groups()
    groups = Groups(log=CoordinatorTopic(QueueInMemory(), groups.clock.millis, "groups"), clock=groups.clock)
    [one] = groups.stable()
    groups.commit(0, 7)
    again = groups.restarted()
    assert again.committed() == 7
    assert again.sync(one)[0].assignment == one.encode()


def test_replay_waits_for_records_and_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    queue = QueueInMemory()
    topic = CoordinatorTopic(queue, lambda: 77, "groups")
    topic.append(Records([(b"a", b"1")]))
    waiting: Deferred[Sequence[Span]] = Deferred()
    queue.outcomes = [waiting, fail(NotReadable("too few replicas")), fail(NotReadable("too few replicas"))]
    replay = topic.replay()
    assert [next(replay), next(replay)] == [None, None]
    waiting.callback([data for *_, data in queue.batches])
    assert next(replay) == Stored(0, 77, b"a", b"1")
    assert list(replay) == [None, None]
    assert caplog.text.count("groups cannot be read yet: too few replicas") == 1


def test_replay_ends_with_a_fault_of_the_queue() -> None:
    queue = QueueInMemory()
    queue.outcomes = [fail(KeyError("a fault"))]
    with pytest.raises(KeyError):
        list(CoordinatorTopic(queue, lambda: 0, "groups").replay())


def test_records_that_are_damaged_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    queue = QueueInMemory()
    topic = CoordinatorTopic(queue, lambda: 77, "groups")
    topic.append(Records([(b"a", b"1")]))
    topic.append(Records([(b"b", b"2")]))
    base, end, data = queue.batches[0]
    queue.batches[0] = (base, end, data[:61] + b"\xff" * (len(data) - 61))
    assert list(topic.replay()) == [Stored(1, 77, b"b", b"2")]
    assert "records of offset 0 and later are skipped" in caplog.text
