"""Sends of a task to brokers in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.message import SendResult, SendStatus
from mqgateway.pipeline import sending
from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.outgoing import SPARK_ID
from mqgateway.pipeline.sending import TaskSender
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of, requests_seen
from tests.support.gateway.client.facing import faced


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=4)
        yield cluster


def sender(key: str | None = None, **chosen: Any) -> TaskSender:
    quick = {"num_retries": 0, "retry_interval_ms": 1, "unreachable_timeout_ms": 0, "send_timeout_ms": 500}
    return TaskSender(
        SinkOptions(name_server=NAMESRV, **{"topic": "T", **quick, **chosen}), TlsOptions(), key
    )


def rows(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"body": f"{number}", **fields} for number in range(count)]


def test_every_row_is_stored_when_it_says_so(cluster: Cluster) -> None:
    task = sender(send_batch_size=7, sends_in_flight=2)
    task.send(rows(50))
    assert task.finish() == 50
    assert sorted(map(int, cluster.everything("T"))) == list(range(50))
    task.close()


def test_rows_with_one_value_stay_in_order_in_one_queue(cluster: Cluster) -> None:
    task = sender(order_column="id", send_batch_size=3)
    task.send({"body": json.dumps([one % 5, one]), "id": one % 5} for one in range(60))
    task.finish()
    places: dict[int, set[int]] = {}
    for number in range(4):
        seen: dict[int, int] = {}
        for body in cluster.stored("T", number):
            value, one = json.loads(body)
            assert seen.get(value, -1) < one
            seen[value] = one
            places.setdefault(value, set()).add(number)
    assert len(places) == 5 and all(len(queues) == 1 for queues in places.values())
    task.close()


def test_repeats_carry_the_same_number(cluster: Cluster) -> None:
    for _ in range(2):
        task = sender("query/7/1", order_column="id")
        task.send(rows(2, id=1))
        task.finish()
        task.close()
    pulled = [cluster.service.broker.store.get("T", number, 0, 10, accept=None).body for number in range(4)]
    data = b"".join(pulled)
    assert [data.count(f"{SPARK_ID}\1query/7/1/{number}\2".encode()) for number in range(2)] == [2, 2]


def test_delayed_rows_go_by_themselves(cluster: Cluster) -> None:
    task = sender()
    task.send([{"body": "a"}, {"body": "later", "delayLevel": 1}, {"body": "b"}])
    assert task.finish() == 3
    assert sorted(cluster.everything("T")) == [b"a", b"b"]
    cluster.wait_for(lambda: len(cluster.everything("T")) == 3)
    task.close()


def test_a_failure_names_topic_queue_and_cause(cluster: Cluster) -> None:
    task = sender(order_column="id")
    task.send(rows(1, id="x"))
    task.finish()
    cluster.cut(BROKER_PORT)
    with pytest.raises(SinkError, match=r"2 rows for topic T queue \d on broker-a were not stored: .*10911"):
        task.send(rows(2, id="x"))
        task.finish()
    cluster.mend(BROKER_PORT)
    task.close()


def test_topic_with_unknown_queues_is_named(cluster: Cluster) -> None:
    task = sender(order_column="id", topic="New")
    cluster.cut(NAMESRV_PORT)
    with pytest.raises(SinkError, match="New: no route to topic New"):
        task.send(rows(1, id="x"))
    cluster.mend(NAMESRV_PORT)
    task.close()


def test_less_durable_send_fails() -> None:
    result = SendResult(SendStatus.FLUSH_DISK_TIMEOUT, "", "", queue_of("T", 1), 5)
    with pytest.raises(SinkError, match="topic T queue 1 on broker-a: stored, but FLUSH_DISK_TIMEOUT"):
        sending._check_stored([result])


def test_every_request_is_signed(cluster: Cluster) -> None:
    seen = requests_seen(cluster)
    task = sender(access_key="me", secret_key="secret", order_column="id")
    task.send(rows(5, id="x"))
    assert task.finish() == 5
    task.close()
    assert seen and all(one.ext_fields["AccessKey"] == "me" for one in seen)
    assert all(one.ext_fields["Signature"] for one in seen)


def test_rows_keep_their_pace(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are sent as far apart as their times are, so much faster; what is late is sent at once."""
    task = sender(pace_column="at", pace_from=1_000_000, pace_at=5_000_000, pace_speed=2.0)
    now, waited = [5_000_000], []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        now[0] += round(seconds * 1000)

    monkeypatch.setattr(task, "_clock", type("Clock", (), {"millis": lambda self: now[0]})())
    monkeypatch.setattr(task, "_pause", type("Pause", (), {"wait": lambda self, seconds: wait(seconds)})())
    times = [1_000, 1_004, 1_002, 1_010]
    task.send({"body": "x", "at": datetime.fromtimestamp(at, UTC)} for at in times)
    assert waited == [2.0, 3.0]
    assert task.finish() == 4
    task.close()
