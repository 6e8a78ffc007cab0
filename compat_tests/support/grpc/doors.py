"""A server with its gRPC front end: Apache's broker with Apache's proxy, or ours, which needs no proxy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from compat_tests.support.artifacts import OPENS
from compat_tests.support.grpc.builds import proxy_class_path
from compat_tests.support.peers import TUNED, Peers
from compat_tests.support.processes import free_ports
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, PRODUCTION_JVM, QUICK_JVM, Part, Server, Settings
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.remoting.tls import pem_of, self_signed

LIGHT: Settings = {"enableLmq": "true", "enableMultiDispatch": "true"}
"""Settings of Apache's broker that lite topics need."""

PROXY_SETTINGS = {
    "proxyMode": "CLUSTER",
    "rocketMQClusterName": "DefaultCluster",
    "useEndpointPortFromRequest": "true",
}

PROXY_TEST_SETTINGS = {
    # By default the proxy announces its transaction producers to brokers every 20 seconds.
    "transactionHeartbeatPeriodSecond": 1,
    # By default it caches the configuration of topics and groups for 20 seconds.
    "topicConfigCacheRefreshSeconds": 1,
    "subscriptionGroupConfigCacheRefreshSeconds": 1,
    "topicRouteServiceCacheRefreshSeconds": 1,
}
"""Settings of Apache's proxy alone, with which it notices changes sooner in tests."""


def apache_proxy(
    folder: Path, grpc_port: int, namesrv: str, more: Settings, *, production: bool = False
) -> Part:
    """Return Apache's proxy in cluster mode; it takes another port for its remoting listener."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        **PROXY_SETTINGS,
        **({} if production else PROXY_TEST_SETTINGS),
        **more,
        "namesrvAddr": namesrv,
        "grpcServerPort": grpc_port,
        "remotingListenPort": free_ports(),
    }
    config = folder / "rmq-proxy.json"
    config.write_text(json.dumps(settings))
    jvm = PRODUCTION_JVM if production else ("-Xms256m", "-Xmx512m", *QUICK_JVM)
    command = ["java", *jvm, *OPENS, f"-Duser.home={folder}", "-cp", proxy_class_path()]
    command += ["org.apache.rocketmq.proxy.ProxyStartup", "-pc", str(config), "-pm", "cluster"]
    command += ["-n", namesrv]
    env = {"RMQ_PROXY_HOME": str(folder), "ROCKETMQ_HOME": str(folder)}
    return Part(command, folder / "proxy.log", "startup successfully", [f"{HOST}:{grpc_port}"], env)


def certificate(work: Path) -> tuple[Path, Path]:
    """Return the files of key and certificate of a run's gRPC front ends; make them if they are missing.

    Clients that verify certificates must trust it.
    """
    key_file, certificate_file = work / "grpc-key.pem", work / "grpc-certificate.pem"
    if not certificate_file.exists():
        key, shown = pem_of(*self_signed(HOST))
        key_file.write_bytes(key)
        certificate_file.write_bytes(shown)
    return key_file, certificate_file


class GrpcServer(Server):
    """A name server, a broker and a gRPC front end of one kind, at :attr:`endpoints`.

    ``proxy`` has settings of the front end: of Apache's proxy, or of our broker, which has the same names.
    """

    def __init__(
        self,
        kind: str,
        work: Path,
        settings: Settings | None = None,
        *,
        proxy: Settings | None = None,
        production: bool = False,
    ) -> None:
        port = free_ports()
        key, shown = map(str, certificate(work))
        own = {"grpcServerPort": str(port), "tls.test.mode.enable": "false"}
        own |= {"tls.server.keyPath": key, "tls.server.certPath": shown}
        chosen = {**(settings or {}), **({**own, **(proxy or {})} if kind == "ours" else {})}
        super().__init__(kind, work, chosen, production=production)
        self.endpoints = f"{HOST}:{port}"
        self.proxy: Part | None = None
        if kind == "apache":
            files = {"tlsTestModeEnable": "false", "tlsKeyPath": key, "tlsCertPath": shown, **(proxy or {})}
            folder, namesrv = self.folder / "proxy", self.namesrv_address
            self.proxy = apache_proxy(folder, port, namesrv, files, production=production)

    @property
    def pids(self) -> list[int]:
        """The process ids of all servers, which must have been started."""
        return [*super().pids, *([self.proxy.pid] if self.proxy else [])]

    def start(self) -> GrpcServer:
        """Start the servers; the proxy last, because it requests a topic from a registered broker."""
        super().start()
        if self.proxy is not None:
            try:
                self.proxy.start()
            except BaseException:
                super().stop()
                raise
        return self

    def stop(self) -> None:
        """Stop all servers cleanly, the proxy first."""
        if self.proxy is not None:
            self.proxy.stop()
        super().stop()

    def revive(self) -> None:
        """Start a killed broker again; Apache's proxy has kept running."""
        if self.kind == "apache":
            self._parts[-1].start()
            self.wait_until_registered()
        else:
            self.restart()

    def discard(self) -> None:
        """Kill all servers: the store is not needed any more."""
        if self.proxy is not None:
            self.proxy.kill9()
        super().discard()

    def __enter__(self) -> GrpcServer:
        return self.start()

    def make_topic(self, topic: str, kind: str = "NORMAL", queues: int = 4) -> str:
        """Create a topic for messages of one type; return its name."""
        fields = {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
            "attributes": f"+message.type={kind}",
        }
        self._ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
        return topic

    def make_group(
        self, group: str, *, orderly: bool = False, most_retries: int = 16, lite_topic: str = ""
    ) -> str:
        """Create a consumer group; return its name. It may read the lite topics of ``lite_topic``."""
        attributes = {"+lite.bind.topic": lite_topic} if lite_topic else {}
        config = {
            "groupName": group,
            "consumeMessageOrderly": orderly,
            "retryMaxTimes": most_retries,
            "attributes": attributes,
        }
        self._ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(config).encode())
        return group

    def message_count(self, topic: str) -> int:
        """Return the number of messages that a topic has ever had; 0 if there is no such topic."""
        with RawConnection(self.broker_address) as connection:
            answer = connection.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
        assert answer is not None
        if answer.code != ResponseCode.SUCCESS:
            return 0
        return sum(int(end) for end in re.findall(rb'"maxOffset":(\d+)', answer.body))

    def _ask(self, code: int, fields: Mapping[str, str], body: bytes = b"") -> None:
        with RawConnection(self.broker_address) as connection:
            answer = connection.ask(code, fields, body)
        assert answer is not None
        assert answer.code == ResponseCode.SUCCESS, answer.remark


def door(kind: str, peers: Peers) -> GrpcServer:
    """Return the shared gRPC server of a kind; it ends with the other servers of its kind."""
    place = kind, "grpc"
    with peers._lock:
        found = peers._servers.get(place)
        if found is None:
            found = peers._servers[place] = GrpcServer(kind, peers.work, {**TUNED, **LIGHT}).start()
    assert isinstance(found, GrpcServer)
    return found
