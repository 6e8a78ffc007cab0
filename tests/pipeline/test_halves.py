"""Half messages of a task in a transactional batch, and its answers to transaction checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.client.message import SendResult, SendStatus
from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.halves import is_left_over
from mqgateway.pipeline.verdicts import Transaction, Verdict
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, queue_of, requests_seen
from tests.support.gateway.client.facing import faced
from tests.support.pipeline.transactions import World, ends

LAST = Verdict(Transaction("q", 7), "G", 1000, is_done=True)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with faced(monkeypatch, transaction_time_out=2000, transaction_check_interval=2000) as cluster:
        cluster.make_topic("T", queues=4)
        yield World(cluster)


def test_rows_are_stored_and_invisible(world: World) -> None:
    places = world.sent([f"{number}" for number in range(20)])
    assert sum(one.rows for one in places) == world.open_halves == 20
    assert {one.queue for one in places} == {queue_of("T", number) for number in range(4)}
    assert world.visible() == []
    store = world.cluster.service.broker.store
    for one in places:
        for half in one.halves():
            found = store.look_up(half.physical_offset)
            assert found is not None and found.properties["SPARK_TRANSACTION"] == "q/0"
            assert (found.queue_offset, found.properties["REAL_QID"]) == (
                half.queue_offset,
                str(one.queue_id),
            )


def test_failed_task_rolls_back_its_rows(world: World) -> None:
    task = world.task()
    task.send([{"body": "a"}, {"body": "b"}])
    with pytest.raises(SinkError, match="a row for T without a body"):
        task.send([{"body": ""}])
    task._flush("T", None)
    assert world.open_halves == 2
    task.take_back()
    task.close()
    assert world.open_halves == 0 and world.visible() == []


def test_rows_that_cannot_be_rolled_back_remain(world: World, caplog: Any) -> None:
    task = world.task()
    task.send([{"body": "a"}])
    task.finish()
    world.cluster.cut(BROKER_PORT)
    task.take_back()
    assert "half messages of q/0 remain and stay invisible" in caplog.text
    world.cluster.mend(BROKER_PORT)
    task.close()
    assert world.open_halves == 1


def test_send_stored_less_durably_than_configured_fails(world: World) -> None:
    task = world.task()
    weak = SendResult(SendStatus.FLUSH_DISK_TIMEOUT, "", "", queue_of("T"), 5)
    task._submit = lambda messages, queue: type("Outcome", (), {"result": lambda self: weak})()  # type: ignore[method-assign,assignment,return-value]
    task.send([{"body": "a"}])
    with pytest.raises(SinkError, match="FLUSH_DISK_TIMEOUT reports that it is less durable"):
        task.finish()
    task.close()


@pytest.mark.parametrize(
    ("mark", "born_at", "last", "left"),
    [
        ("q/7", 999, LAST, True),
        ("q/3", 999, LAST, True),
        ("q/8", 999, LAST, False),  # it may still be committed
        ("q/7", 1000, LAST, False),  # a repetition that the driver will roll back
        ("other/3", 999, LAST, False),
        ("", 999, LAST, False),
        ("q/7", 999, None, False),
        ("q/7", 999, Verdict(Transaction("q", 7), "G", 1000), False),  # not acknowledged by all brokers yet
    ],
)
def test_is_left_over(mark: str, born_at: int, last: Verdict | None, left: bool) -> None:
    assert is_left_over(mark, born_at, last) is left


def test_transaction_check_rolls_back_only_obsolete_messages(world: World) -> None:
    """Brokers check two half messages of dead tasks with a task of a later batch."""
    world.sent(["left over"], batch=3)
    world.cluster.settle(1.0)
    last = Verdict(Transaction("q", 4), "G", world.cluster.clock.millis(), is_done=True)
    world.sent(["not decided"], batch=5)
    seen = requests_seen(world.cluster)
    task = world.task(6, last)
    task.send([{"body": "x"}])
    task.finish()
    world.cluster.settle(20.0)
    answers = [one.ext_fields["commitOrRollback"] for one in seen if ends([one])]
    assert str(SysFlag.TRANSACTION_ROLLBACK) in answers and str(SysFlag.TRANSACTION_COMMIT) not in answers
    assert world.open_halves == 2 and world.visible() == []
    task.close()


@pytest.fixture(autouse=True)
def _nothing_is_complained_of(world: World) -> Iterator[None]:
    yield
    assert isinstance(world.cluster, Cluster)
    world.cluster.watch.complaints.clear()
