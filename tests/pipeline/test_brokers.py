"""Requests of a driver to a name server and brokers in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.errors import BrokerError, NoBroker, Unreachable
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.pipeline.brokers import Brokers, Patience, client_settings, is_passing, new_producer_client
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.options import SinkOptions, SourceOptions
from mqgateway.pipeline.planning import Bounds
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT
from tests.support.gateway.client.cluster import NAMESRV, Cluster, messages, queue_of
from tests.support.gateway.client.facing import faced


def options(**chosen: int) -> SourceOptions:
    quick = {"num_retries": 1, "retry_interval_ms": 1, "connect_timeout_ms": 0, "unreachable_timeout_ms": 0}
    return SourceOptions(name_server=NAMESRV, **{**quick, **chosen})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=2)
        yield cluster


@pytest.fixture
def brokers(cluster: Cluster) -> Iterator[Brokers]:
    with Brokers(options(), TlsOptions()) as brokers:
        yield brokers


def fill(cluster: Cluster, count: int = 5, queue_id: int = 0) -> None:
    producer = cluster.producer("Fillers")
    for message in messages("T", count):
        cluster.run(producer.send(message, queue=queue_of("T", queue_id)))
        cluster.net.advance(1.0)


def test_queues_of_topics(cluster: Cluster, brokers: Brokers) -> None:
    cluster.make_topic("Other", queues=1)
    assert brokers.queues(["T", "Other", "Nowhere"]) == [
        queue_of("Other"),
        queue_of("T", 0),
        queue_of("T", 1),
    ]


def test_topics_by_name_without_the_brokers_own(cluster: Cluster, brokers: Brokers) -> None:
    assert brokers.topics(lambda name: True) == ["T"] or "TBW102" not in brokers.topics(lambda name: True)
    assert brokers.topics(lambda name: name == "T") == ["T"]
    assert "TBW102" not in brokers.topics(lambda name: True)


def test_bounds(cluster: Cluster, brokers: Brokers) -> None:
    fill(cluster)
    queues = brokers.queues(["T"])
    assert brokers.bounds(queues) == {queue_of("T", 0): Bounds(0, 5), queue_of("T", 1): Bounds(0, 0)}
    assert brokers.max_offsets(queues) == {queue_of("T", 0): 5, queue_of("T", 1): 0}


def test_offsets_by_time(cluster: Cluster, brokers: Brokers) -> None:
    """The first offset stored at a time or later; the end if there is none."""
    begin = cluster.clock.millis()
    fill(cluster)
    queue = queue_of("T", 0)
    assert brokers.offsets_by_time({queue: begin}) == {queue: 0}
    assert brokers.offsets_by_time({queue: begin + 1_500}) == {queue: 2}
    assert brokers.offsets_by_time({queue: begin + 1_000_000}) == {queue: 5}


def test_unreachable_broker_is_retried_and_named_in_the_error(cluster: Cluster, brokers: Brokers) -> None:
    queues = brokers.queues(["T"])
    assert brokers.max_offsets(queues)[queue_of("T")] == 0
    cluster.cut(BROKER_PORT)
    with pytest.raises(Unreachable, match="10911"):
        brokers.max_offsets(queues)
    brokers.refresh("T")
    cluster.mend(BROKER_PORT)
    assert brokers.max_offsets(queues)[queue_of("T")] == 0


def test_servers_that_never_answered_are_given_up_soon(cluster: Cluster, brokers: Brokers) -> None:
    """The options for servers that have answered do not matter. The error has advice for each of the two
    kinds of server."""
    queues = [queue_of("T", 0)]
    cluster.cut(BROKER_PORT)
    with (
        Brokers(options(num_retries=9, unreachable_timeout_ms=600_000), TlsOptions()) as impatient,
        pytest.raises(PipelineError, match=r"10911 cannot be reached.*brokerIP1"),
    ):
        impatient.max_offsets(queues)
    cluster.cut(NAMESRV_PORT)
    with pytest.raises(PipelineError, match=r"no name server answers.*correct the option nameServer"):
        brokers.queues(["T"])


def test_patience_ends() -> None:
    """Retries end after the number and the time of the options; before the first answer, after the time
    alone."""
    patience = Patience(options(num_retries=9, unreachable_timeout_ms=600_000), is_first=True)
    with pytest.raises(Unreachable):
        patience.wait(Unreachable("gone"))
    patience = Patience(options(num_retries=2))
    for _ in range(2):
        patience.wait(Unreachable("gone"))
    with pytest.raises(Unreachable):
        patience.wait(Unreachable("gone"))
    patience = Patience(options(num_retries=0, unreachable_timeout_ms=60_000))
    patience.wait(Unreachable("gone"))
    patience.renew()
    with pytest.raises(BrokerError):
        patience.wait(BrokerError(ResponseCode.TOPIC_NOT_EXIST, "", "a"))


def test_is_passing_for_transient_errors_only() -> None:
    assert is_passing(Unreachable("x")) and is_passing(NoBroker("x"))
    assert is_passing(BrokerError(ResponseCode.SYSTEM_BUSY, "", "a"))
    assert not is_passing(BrokerError(ResponseCode.NO_PERMISSION, "", "a"))


def test_settings_of_the_client(cluster: Cluster) -> None:
    settings = client_settings(SinkOptions(name_server="a:1", access_key="k", use_tls=True))
    assert (settings["namesrv_addr"], settings["access_key"], settings["use_tls"]) == ("a:1", "k", True)
    client = new_producer_client(SinkOptions(name_server=NAMESRV), TlsOptions())
    assert client.options.namesrv_addr == NAMESRV
