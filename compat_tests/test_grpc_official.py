"""Apache's own integration test of its proxy, ClusterGrpcIT, against an external gRPC listener."""

from __future__ import annotations

import subprocess

import pytest

from compat_tests.official.cluster import SETTINGS
from compat_tests.official.lane import JVM, MAIN, prepare
from compat_tests.support.grpc.builds import java_program
from compat_tests.support.grpc.doors import GrpcServer
from compat_tests.support.peers import Peers
from compat_tests.support.servers import CLUSTER_NAME, Settings

pytestmark = pytest.mark.long

CASES = 11
RUN_SECONDS = 420
TRIES = 3
"""A case passes if one of these tries passes, as with all official tests."""

OF_THE_TEST: Settings = {
    "useEndpointPortFromRequest": "false",
    "minInvisibleTimeMillsForRecv": "3",
    "grpcClientConsumerMinLongPollingTimeoutMillis": "0",
    "longPollingReserveTimeInMillis": "500",
    "transactionHeartbeatPeriodSecond": "3",
}
"""Settings that the test makes at the proxy that it would start."""

CLASS = "org.apache.rocketmq.test.grpc.v2.ClusterGrpcIT"


@pytest.mark.timeout(TRIES * RUN_SECONDS + 120)
def test_cases_of_cluster_grpc_it(kind: str, peers: Peers) -> None:
    """Each of its cases passes."""
    broker = {**SETTINGS, "brokerClusterName": CLUSTER_NAME}
    with GrpcServer(kind, peers.work, broker, proxy=OF_THE_TEST) as server:
        passed: set[str] = set()
        for _ in range(TRIES):
            results = run(server, passed)
            passed |= {name for name, result, *_ in results if result == "passed"}
            failed = [one for one in results if one[1] == "failed"]
            if not failed:
                break
    assert not failed
    assert len(passed) == CASES


def run(server: GrpcServer, unwanted: set[str]) -> list[list[str]]:
    """Return method, result, seconds and reason of each case except the unwanted ones."""
    properties = {
        "official.namesrv": server.namesrv_address,
        "official.cluster": CLUSTER_NAME,
        "official.brokers": ",".join([server.broker_name] * 3),
        "official.addresses": ",".join([server.broker_address] * 3),
        "official.grpc": server.endpoints.rpartition(":")[2],
        # The proxy that the test would start sets it, for a consumer of dead letters without a name server.
        "rocketmq.namesrv.addr": server.namesrv_address,
        "RMQ_PROXY_HOME": str(server.folder),
        "user.home": str(server.folder),
    }
    config = server.folder / "conf" / "rmq-proxy.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text("{}")
    options = [f"-D{name}={value}" for name, value in properties.items()]
    command = ["java", *JVM, *options, "-cp", java_program("official", prepare()), MAIN]
    said = subprocess.run(
        command,
        input=f"{CLASS}\t\t{','.join(sorted(unwanted))}\n",
        text=True,
        stdout=subprocess.PIPE,
        stderr=(server.folder / "official.log").open("ab"),
        timeout=RUN_SECONDS,
        check=True,
    ).stdout
    return [line.split("\t")[1:] for line in said.splitlines() if line.startswith("end\t")]
