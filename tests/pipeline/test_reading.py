"""Reading ranges from brokers in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import Message
from mqgateway.pipeline.columns import Place
from mqgateway.pipeline.errors import DataLoss, PipelineError
from mqgateway.pipeline.options import SourceOptions
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.reading import RangeReader
from mqgateway.pipeline.request import read_request
from mqgateway.pipeline.rows import Rows
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of, requests_seen
from tests.support.gateway.client.facing import faced

COUNT = 150


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with faced(monkeypatch, enable_property_filter=True) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer("Fillers", compress_msg_body_over_howmuch=1000)
        batch = [
            Message(
                "T",
                f"{number}" * (1 if number % 9 else 900),
                tags="ab"[number % 2],
                properties={"number": str(number)},
            )
            for number in range(COUNT)
        ]
        for message in batch:
            cluster.run(producer.send(message, queue=queue_of("T")))
        yield cluster


def read(start: int, end: int, **given: str) -> list[list[tuple[int, bytes]]]:
    """Offsets and bodies, by batch."""
    fields = {
        "nameServer": NAMESRV,
        "topic": "T",
        "fetchOffset.retryIntervalMs": "1",
        "unreachableTimeoutMs": "0",
    }
    reader = RangeReader(read_request({**fields, **given}, is_stream=False), TlsOptions())

    def made(rows: Rows, place: Place) -> list[tuple[int, bytes]]:
        assert place == Place("T", "broker-a")
        return [(head[5], body) for head, body in zip(rows.heads, rows.bodies, strict=True)]

    try:
        return list(reader.batches(Range(queue_of("T"), start, end), made))
    finally:
        reader.close()


def expected(offsets: Any) -> list[tuple[int, bytes]]:
    return [(number, (f"{number}" * (1 if number % 9 else 900)).encode()) for number in offsets]


def test_exactly_the_range(cluster: Cluster) -> None:
    """Over many pulls, compressed bodies made whole; many rows a batch whatever a pull brings."""
    assert read(3, 131) == [expected(range(3, 131))]
    parts = read(0, COUNT, arrowBatchRows="50", pullBatchSize="7")
    assert list(chain(*parts)) == expected(range(COUNT))
    assert all(50 <= len(part) < 57 for part in parts[:-1])
    assert read(5, 5) == []


def test_a_batch_is_bounded_in_bytes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the reply by which it has as many as are allowed."""
    monkeypatch.setattr(SourceOptions, "task_memory_bytes", property(lambda _: 9000, lambda *_: None))
    parts = read(0, COUNT, pullBatchSize="4")
    assert list(chain(*parts)) == expected(range(COUNT))
    assert len(parts) > 2
    for part in parts[:-1]:
        assert sum(len(body) for _, body in part[:-4]) < 9000


def test_every_request_is_signed(cluster: Cluster) -> None:
    seen = requests_seen(cluster)
    read(0, 40, accessKey="me", secretKey="secret", securityToken="token")
    assert seen and all(one.ext_fields["AccessKey"] == "me" for one in seen)
    assert all(one.ext_fields["Signature"] and one.ext_fields["SecurityToken"] == "token" for one in seen)


def test_the_broker_chooses_and_gaps_are_followed(cluster: Cluster) -> None:
    assert read(0, COUNT, subExpression="a") == [expected(range(0, COUNT, 2))]


def test_expressions_are_read_by_the_broker(cluster: Cluster) -> None:
    given = {"subExpression": "TAGS = 'b' and number < 9", "expressionType": "SQL92"}
    assert read(0, COUNT, **given) == [expected([1, 3, 5, 7])]


def test_a_broker_that_knows_no_sql_names_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a task, and before there are tasks."""
    given = {"nameServer": NAMESRV, "topic": "T", "subExpression": "a > 1", "expressionType": "SQL92"}
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        cluster.run(cluster.producer("Fillers").send(Message("T", "x"), queue=queue_of("T")))
        with pytest.raises(PipelineError, match="set enablePropertyFilter=true in its broker"):
            read(0, 1, **given)
        reader = RangeReader(read_request(given, is_stream=False), TlsOptions())
        with pytest.raises(PipelineError, match="10911 does not filter by SQL92"):
            reader.check_filter([Range(queue_of("T"), 0, 1)])
        reader.close()


def test_offsets_that_are_not_there_are_lost(cluster: Cluster) -> None:
    with pytest.raises(DataLoss, match=f"ends at offset {COUNT}, but {COUNT + 5} is to be read"):
        read(COUNT - 1, COUNT + 5)
    assert read(COUNT - 1, COUNT + 5, failOnDataLoss="false") == [expected([COUNT - 1])]


def test_a_broker_that_stays_away_fails_the_task_by_name(cluster: Cluster) -> None:
    cluster.cut(BROKER_PORT)
    with pytest.raises(ClientError) as failure:
        read(0, COUNT)
    assert "reading queue 0 of T on broker-a at offset 0" in failure.value.__notes__
