"""Requests of a client, and errors made of failures."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.errors import BrokerError, TimedOut, TooBusy, Unreachable
from mqgateway.gateway.codec.codes import LanguageCode, RequestCode, SerializeType
from mqgateway.gateway.codec.headers import GetMaxOffsetRequestHeader
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import Cluster, requests_seen

BROKER = f"10.0.0.1:{BROKER_PORT}"
HEADER = GetMaxOffsetRequestHeader(topic="TBW102", queue_id=0)
ask = RequestCode.GET_MAX_OFFSET


def test_requests_carry_language_namespace_and_signature() -> None:
    with Cluster() as cluster:
        client = cluster.client(namespace_v2="ns", access_key="a", secret_key="s")
        seen = requests_seen(cluster)
        cluster.run(as_deferred(client.asking.expect)(BROKER, ask, HEADER))
        (command,) = seen
        assert command.language is LanguageCode.PYTHON and command.serialize_type is SerializeType.JSON
        assert (command.ext_fields["nsd"], command.ext_fields["ns"]) == ("true", "ns")
        assert {"AccessKey", "Signature"} <= set(command.ext_fields)


def test_binary_headers_for_codes_that_fit() -> None:
    with Cluster() as cluster:
        client = cluster.client(serialize_type="ROCKETMQ")
        seen = requests_seen(cluster)
        cluster.run(as_deferred(client.asking.ask)(BROKER, ask, HEADER))
        cluster.run(as_deferred(client.asking.ask)(BROKER, RequestCode.POP_MESSAGE))
        assert [one.serialize_type for one in seen] == [SerializeType.ROCKETMQ, SerializeType.JSON]


def test_refusals_are_answers_or_errors() -> None:
    with Cluster() as cluster:
        client = cluster.client()
        assert cluster.run(as_deferred(client.asking.ask)(BROKER, 9999)).code == 3
        with pytest.raises(BrokerError) as refused:
            cluster.run(as_deferred(client.asking.expect)(BROKER, 9999))
        assert refused.value.code == 3 and refused.value.address == BROKER


def test_failures_are_errors_of_the_client() -> None:
    with Cluster() as cluster:
        client = cluster.client()
        ask_it = as_deferred(client.asking.ask)
        with pytest.raises(Unreachable, match="cannot be reached"):
            cluster.run(ask_it("10.0.0.1:1", ask, HEADER))
        with pytest.raises(Unreachable):
            cluster.run(ask_it("no address", ask, HEADER))
        cluster.net.unreachable.add(2)
        with pytest.raises(TimedOut):
            cluster.run(ask_it("10.0.0.1:2", ask, HEADER, timeout=1.0))


def test_too_many_requests_is_a_distinct_error() -> None:
    with Cluster() as cluster:
        client = cluster.client()
        cluster.run(as_deferred(client.asking.ask)(BROKER, ask, HEADER))
        (pair,) = [pair for pair in cluster.net.pairs if pair.server.host.port == BROKER_PORT]
        pair.client.stuck = True
        big = as_deferred(client.asking.ask)(BROKER, ask, HEADER, b"x" * 10_000_000, timeout=1.0)
        with pytest.raises(TooBusy):
            cluster.run(as_deferred(client.asking.ask)(BROKER, ask, HEADER))
        with pytest.raises(TimedOut):
            cluster.run(big)
