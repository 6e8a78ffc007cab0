"""Name servers: one is queried, and the next one after a failure."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.errors import BadArgument, BrokerError, Unreachable
from mqgateway.gateway.client.name_servers import NameServerList
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.client.cluster import NAMESRV, Cluster

DEAD = "10.0.0.1:4"


@pytest.mark.parametrize("seed", range(4))
def test_next_name_server_is_queried_after_a_failure(seed: int) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        servers = NameServerList([DEAD, NAMESRV], cluster.client().asking, Random(seed))
        for _ in range(3):
            route = cluster.run(as_deferred(servers.route)("T"))
            assert route is not None and route.queue_datas[0].broker_name == "broker-a"
        # The one that answered is queried again.
        attempts = cluster.net.attempts
        cluster.run(as_deferred(servers.route)("T"))
        assert cluster.net.attempts == attempts


def test_unknown_topic_has_no_route() -> None:
    with Cluster() as cluster:
        servers = NameServerList([NAMESRV], cluster.client().asking, Random(1))
        assert cluster.run(as_deferred(servers.route)("Nowhere")) is None


def test_when_none_answers_all_reasons_are_given() -> None:
    with Cluster() as cluster:
        servers = NameServerList([DEAD, "10.0.0.1:5"], cluster.client().asking, Random(1))
        with pytest.raises(Unreachable, match=r"no name server answers: .*; "):
            cluster.run(as_deferred(servers.route)("T"))
        with pytest.raises(BadArgument, match="no name server is configured"):
            cluster.run(as_deferred(NameServerList([], cluster.client().asking, Random(1)).route)("T"))


def test_a_refusal_is_an_answer() -> None:
    class Refusing:
        asked = 0

        async def ask(self, *_: object) -> RemotingCommand:
            self.asked += 1
            return RemotingCommand.response(1, remark="not today")

    asking: Any = Refusing()
    outcome: list[Any] = []
    servers = NameServerList([NAMESRV, DEAD], asking, Random(1))
    as_deferred(servers.route)("T").addErrback(outcome.append)
    assert outcome[0].check(BrokerError) and asking.asked == 1
