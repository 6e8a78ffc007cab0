"""A broker receives its mapped address after the start, as from test containers, and registers with it."""

from __future__ import annotations

from functools import partial

import pytest

from compat_tests.support.peers import KINDS, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, MixedCluster, wait_until_registered
from mqgateway.gateway.codec.bodies import ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode

pytestmark = pytest.mark.overlap

REGISTERED_SECONDS = 30
"""Apache's broker registers a new address with its next period, which is 10 s in tests."""


def addresses(namesrv: str) -> dict[str, dict[int, str]]:
    """The addresses of all brokers, by name and id."""
    with RawConnection(namesrv) as connection:
        answer = connection.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert answer is not None
    table = ClusterInfo.decode(answer.body).broker_addr_table
    return {name: data.broker_addrs for name, data in table.items()}


def is_at(namesrv: str, name: str, address: str) -> bool:
    """Return True if a name server knows a broker by this address only."""
    return addresses(namesrv)[name] == {0: address}


@pytest.mark.parametrize("namesrv_kind", KINDS)
def test_announced_address_replaces_the_old_one(namesrv_kind: str, peers: Peers) -> None:
    with MixedCluster(namesrv_kind, peers.work / "announced") as cluster:
        namesrv, names = cluster.namesrv_address, cluster.broker_names
        wait_until_registered(namesrv, set(names.values()))
        for kind in KINDS:
            name = names[kind]
            before, mapped = addresses(namesrv)[name][0], free_ports()
            with RawConnection(before) as connection:
                for body in (b"brokerIP1=127.0.0.9\n", f"listenPort={mapped}\n".encode()):
                    answer = connection.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body)
                    assert answer is not None and answer.code == 0, answer
            wait_until(
                partial(is_at, namesrv, name, f"127.0.0.9:{mapped}"),
                REGISTERED_SECONDS,
                f"{kind} at its new address",
            )
            with RawConnection(f"{HOST}:{before.rpartition(':')[2]}") as connection:
                answer = connection.ask(RequestCode.GET_BROKER_CONFIG)
                assert answer is not None and f"listenPort={mapped}\n".encode() in answer.body
