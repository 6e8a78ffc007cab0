"""A name server, a broker, or both, put together from settings and run on a reactor in memory.

The disk and the worker's thread are real; what the thread has to tell is performed by the test.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import Setting, TlsMode
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.cli import reach
from mqgateway.gateway.cli.services import Both
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings, from_flags
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.bodies import ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.listener import GrpcListener
from mqgateway.gateway.web.service import ConsoleService
from tests.support.gateway.remoting.pair import Net, Talker

NAMESRV_PORT, BROKER_PORT = 9876, 10911


class Loop(Net):
    """A reactor in memory that threads can call."""

    def __init__(self) -> None:
        super().__init__()
        self.thread_calls: queue.Queue[tuple[Callable[..., Any], tuple[Any, ...]]] = queue.Queue()

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any) -> None:
        self.thread_calls.put((callable, args))

    def wait_for(self, outcome: Deferred[Any]) -> Any:
        """Let everything happen until the outcome is there, which must be soon."""
        found: list[Any] = []
        outcome.addBoth(found.append)
        for _ in range(100):
            self.settle(0.5)
            if found:
                return found[0]
            self._hear_threads()
        raise AssertionError("nothing comes of it")

    def _hear_threads(self) -> None:
        with suppress(queue.Empty):
            while True:
                callable, args = self.thread_calls.get(timeout=0.02)
                callable(*args)

    def ask(
        self, port: int, code: int, header: headers.Header | None = None, who: Credentials | None = None
    ) -> RemotingCommand:
        """Ask a service on a connection of its own."""
        talker = Talker()
        self.meet(port, talker)
        command = RemotingCommand.request(code, header)
        if who is not None:
            who.sign(command)
        talker.transport.write(encode_command(command))
        self.settle()
        answers = talker.take()
        for _ in range(100):  # what threads have to do with it comes later
            if answers:
                break
            self._hear_threads()
            self.settle()
            answers = talker.take()
        (answer,) = answers
        talker.transport.abortConnection()
        self.settle()
        return answer


def namesrv_settings(folder: Path) -> NamesrvSettings:
    """A name server whose files lie in a folder."""
    settings = NamesrvSettings()
    settings.find_out(str(folder / "namesrv"))
    settings.tls.tls_server_mode = TlsMode.DISABLED
    settings.remoting.listen_port = NAMESRV_PORT
    return settings


def broker_settings(folder: Path, **flags: object) -> BrokerSettings:
    """A small broker whose files lie in a folder."""
    settings = BrokerSettings()
    settings.tls.tls_server_mode = TlsMode.DISABLED
    usual: dict[str, object] = {
        "brokerIP1": "10.0.0.1",
        "brokerName": "broker-a",
        "storePathRootDir": folder / "store",
        "mappedFileSizeCommitLog": 1 << 16,
        "maxHashSlotNum": 100,
        "maxIndexNum": 400,
    }
    assert not settings.options.apply(from_flags(usual | flags))
    settings.find_out()
    return settings


def test_both_know_each_other_and_stop_cleanly(tmp_path: Path) -> None:
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path), began=0.0)
    assert loop.wait_for(both.start()) is None
    assert set(loop.ports) == {NAMESRV_PORT, BROKER_PORT - 2, BROKER_PORT, BROKER_PORT + 1}
    cluster = ClusterInfo.decode(loop.ask(NAMESRV_PORT, RequestCode.GET_BROKER_CLUSTER_INFO).body)
    assert cluster.broker_addr_table["broker-a"].broker_addrs == {0: f"10.0.0.1:{BROKER_PORT}"}
    assert loop.ask(BROKER_PORT, RequestCode.GET_BROKER_RUNTIME_INFO).code == 0
    assert list(both.summary().lines()[-3:-1]) == [
        f"The Name Server boot success. serializeType=JSON, address 0.0.0.0:{NAMESRV_PORT}",
        f"The broker[broker-a, 10.0.0.1:{BROKER_PORT}] boot success. serializeType=JSON and name server is "
        f"127.0.0.1:{NAMESRV_PORT}",
    ]
    stopped = both.stop()
    assert loop.wait_for(stopped) is None
    assert not loop.ports
    assert not [call for call in loop.getDelayedCalls() if call.active()]
    assert not (tmp_path / "store" / "abort").exists()


def test_the_name_server_asks_who_is_there_as_its_broker_does(tmp_path: Path) -> None:
    """With the broker's users, and without being told; the broker signs without having been given a name."""
    loop = Loop()
    user = '{"username":"root","password":"secret"}'
    broker = broker_settings(tmp_path, authenticationEnabled="true", initAuthenticationUser=user)
    namesrv = namesrv_settings(tmp_path)
    namesrv.ask_as(broker)
    both = Both(loop, namesrv, broker, began=0.0)
    loop.wait_for(both.start())
    for port in (NAMESRV_PORT, BROKER_PORT):
        assert loop.ask(port, RequestCode.AUTH_LIST_USER).code == 16
    root = Credentials("root", "secret")
    cluster = ClusterInfo.decode(loop.ask(NAMESRV_PORT, RequestCode.GET_BROKER_CLUSTER_INFO, who=root).body)
    assert set(cluster.broker_addr_table) == {"broker-a"}
    for port in (NAMESRV_PORT, BROKER_PORT):
        users = json.loads(loop.ask(port, RequestCode.AUTH_LIST_USER, who=root).body)
        assert [one["username"] for one in users] == ["root"], "what the broker signs with is nobody's to use"
    loop.wait_for(both.stop())
    assert set(json.loads((tmp_path / "store/config/users.json").read_text())["userTable"]) == {"root"}
    assert not (tmp_path / "namesrv" / "users.json").exists()


def test_name_server_does_not_authenticate_if_configured(tmp_path: Path) -> None:
    namesrv, broker = namesrv_settings(tmp_path), broker_settings(tmp_path, authenticationEnabled="true")
    namesrv.options.apply(from_flags({"authenticationEnabled": "false"}))
    namesrv.ask_as(broker)
    assert not namesrv.namesrv.authentication_enabled
    loop = Loop()
    both = Both(loop, namesrv, broker, began=0.0)
    loop.wait_for(both.start())
    assert loop.ask(NAMESRV_PORT, RequestCode.GET_BROKER_CLUSTER_INFO).code == 0
    loop.wait_for(both.stop())


def test_a_controller_runs_beside_a_name_server_where_it_is_asked_for(tmp_path: Path) -> None:
    loop = Loop()
    settings = namesrv_settings(tmp_path)
    settings.options.apply(
        from_flags({"enableControllerInNamesrv": "true", "controllerDLegerPeers": "n0-10.0.0.1:9878"})
    )
    both = Both(loop, settings, None, began=0.0)
    loop.wait_for(both.start())
    assert set(loop.ports) == {NAMESRV_PORT, 9878}
    assert loop.ask(9878, RequestCode.CONTROLLER_GET_METADATA_INFO).ext_fields["isLeader"] == "true"
    assert loop.ask(NAMESRV_PORT, RequestCode.CONTROLLER_GET_METADATA_INFO).code == 3
    shown = loop.ask(9878, RequestCode.GET_CONTROLLER_CONFIG).body.decode().splitlines()
    assert "controllerDLegerPeers=n0-10.0.0.1:9878" in shown
    assert both.summary().controller == "10.0.0.1:9878"
    assert "The ControllerManager boot success. serializeType=JSON" in both.summary().lines()
    assert both.entries == 0
    loop.wait_for(both.stop())
    assert not loop.ports
    assert (tmp_path / "namesrv" / "DLedgerController" / "brokerSets.json").exists()


def test_first_client_gets_the_broker_whenever_it_can_connect(tmp_path: Path) -> None:
    """The name server listens once the broker does, and says nothing of routes before it is in them."""
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path), began=0.0)
    started: list[object] = []
    both.start().addBoth(started.append)
    assert set(loop.ports) == {NAMESRV_PORT, BROKER_PORT - 2, BROKER_PORT, BROKER_PORT + 1}
    assert not started, "nobody has had a turn yet, the registration neither"
    talker = Talker()
    loop.meet(NAMESRV_PORT, talker)
    talker.transport.write(encode_command(RemotingCommand.request(RequestCode.GET_BROKER_CLUSTER_INFO)))
    header = headers.GetRouteInfoRequestHeader(topic="TBW102")
    talker.transport.write(
        encode_command(RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
    )
    loop.settle(0.5)
    answers = talker.take()
    assert [answer.code for answer in answers] == [0, 0], "No route info of this topic"
    assert set(ClusterInfo.decode(answers[0].body).broker_addr_table) == {"broker-a"}
    assert started == [None]
    loop.wait_for(both.stop())


def test_the_neighbour_comes_before_other_name_servers(tmp_path: Path) -> None:
    loop = Loop()
    broker = broker_settings(tmp_path, namesrvAddr="10.0.0.9:9876")
    both = Both(loop, namesrv_settings(tmp_path), broker, began=0.0)
    loop.wait_for(both.start())
    assert broker.broker.namesrv_addr == f"127.0.0.1:{NAMESRV_PORT};10.0.0.9:9876"
    assert broker.options.origin("namesrvAddr") == "built-in name server"
    loop.wait_for(both.stop())


@pytest.mark.parametrize("own", ["127.0.0.1", "localhost"])
def test_own_name_server_in_namesrv_addr_is_listed_once(tmp_path: Path, own: str) -> None:
    """`NAMESRV_ADDR` names it wherever a compose file sets the variable for all services."""
    loop = Loop()
    broker = broker_settings(tmp_path, namesrvAddr=f"{own}:{NAMESRV_PORT};10.0.0.9:9876")
    both = Both(loop, namesrv_settings(tmp_path), broker, began=0.0)
    loop.wait_for(both.start())
    assert broker.broker.namesrv_addr == f"127.0.0.1:{NAMESRV_PORT};10.0.0.9:9876"
    loop.wait_for(both.stop())


def test_the_neighbour_is_reached_where_it_listens(tmp_path: Path) -> None:
    loop = Loop()
    broker = broker_settings(tmp_path)
    broker.remoting.bind_address = "10.0.0.1"
    both = Both(loop, namesrv_settings(tmp_path), broker, began=0.0)
    loop.wait_for(both.start())
    assert broker.broker.namesrv_addr == f"10.0.0.1:{NAMESRV_PORT}"
    loop.wait_for(both.stop())


def test_a_name_server_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "advice", lambda *_: [])  # what this machine lacks is none of ours
    loop = Loop()
    alone = Both(loop, namesrv_settings(tmp_path), None, began=0.0)
    assert loop.wait_for(alone.start()) is None
    assert alone.broker is None
    assert set(loop.ports) == {NAMESRV_PORT}
    put = headers.PutKVConfigRequestHeader(namespace="n", key="k", value="v")
    assert loop.ask(NAMESRV_PORT, RequestCode.PUT_KV_CONFIG, put).code == 0
    assert (tmp_path / "namesrv" / "kvConfig.json").exists()
    summary = alone.summary()
    assert (summary.broker, summary.broker_name) == (None, "")
    assert summary.name_server is not None and summary.name_server.endswith(f":{NAMESRV_PORT}")
    assert summary.data == str(tmp_path / "namesrv")
    assert not summary.warnings
    assert alone.status == f"name server at port {NAMESRV_PORT}"
    assert loop.wait_for(alone.drain()) is None
    loop.wait_for(alone.stop())
    assert not loop.ports


def test_a_broker_alone_starts_without_its_name_server(tmp_path: Path) -> None:
    loop = Loop()
    alone = Both(loop, None, broker_settings(tmp_path, namesrvAddr="10.0.0.9:9876"), began=0.0)
    assert loop.wait_for(alone.start()) is None
    assert alone.namesrv is None
    assert loop.ask(BROKER_PORT, RequestCode.GET_BROKER_RUNTIME_INFO).code == 0
    assert alone.summary().name_server is None
    loop.wait_for(alone.stop())
    assert not loop.ports


def test_the_summary_says_what_was_found_out(tmp_path: Path) -> None:
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path), began=0.0)
    loop.wait_for(both.start())
    summary = both.summary()
    assert summary.name_server == f"10.0.0.1:{NAMESRV_PORT}"
    assert summary.broker == f"10.0.0.1:{BROKER_PORT}"
    assert (summary.broker_name, summary.cluster) == ("broker-a", "DefaultCluster")
    assert summary.data == str(tmp_path / "store")
    assert any("10.0.0.1 is not an address of this machine" in warning for warning in summary.warnings)
    assert summary.started_in >= 0
    loop.wait_for(both.stop())


def test_a_broker_that_cannot_start_says_why_and_the_name_server_still_stops(tmp_path: Path) -> None:
    loop = Loop()
    tables = tmp_path / "store" / "config"
    tables.mkdir(parents=True)
    (tables / "topics.json").write_text('{"topicConfigTable": {"T": {"perm": "six"}}}')
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path), began=0.0)
    failure = loop.wait_for(both.start())
    assert isinstance(failure.value, ConfigError), failure
    assert not loop.ports, "no client comes to a name server that has no broker"
    loop.wait_for(both.stop())
    assert not loop.ports


def test_stopping_before_the_start_is_nothing(tmp_path: Path) -> None:
    both = Both(Loop(), namesrv_settings(tmp_path), broker_settings(tmp_path), began=0.0)
    stopped: list[object] = []
    both.stop().addBoth(stopped.append)
    assert stopped == [None]


def test_the_console_is_there_where_a_port_is_set(tmp_path: Path) -> None:
    loop = Loop()
    namesrv, broker = namesrv_settings(tmp_path), broker_settings(tmp_path, consolePort=8088)
    both = Both(loop, namesrv, broker, 0.0)
    loop.wait_for(both.start())
    url = both.summary().as_json()["console"]
    assert isinstance(url, str) and url.startswith("http://127.0.0.1:8088/#token=")
    console = both.front_ends["console"]
    assert isinstance(console, ConsoleService) and console.console.name_server is not None
    assert any("console" in line for line in both.summary().lines())
    loop.wait_for(both.stop())
    assert both.summary().as_json()["console"] is None


def test_without_one_nothing_of_it_is_made(tmp_path: Path) -> None:
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path), 0.0)
    loop.wait_for(both.start())
    assert not both.front_ends and both.summary().as_json()["console"] is None
    loop.wait_for(both.stop())


def test_grpc_is_there_where_a_port_is_set(tmp_path: Path) -> None:
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path, grpcServerPort=8081), 0.0)
    loop.wait_for(both.start())
    assert 8081 in loop.ports
    endpoints = both.summary().as_json()["grpc"]
    assert isinstance(endpoints, str) and endpoints.endswith(":8081")
    assert any(line.startswith("gRPC ") and endpoints in line for line in both.summary().lines())
    loop.wait_for(both.stop())
    assert not loop.ports


@pytest.mark.parametrize("exporter", ["PROM", "DISABLE"])
def test_calls_of_grpc_are_counted_where_metrics_are_served(exporter: str, tmp_path: Path) -> None:
    loop = Loop()
    broker = broker_settings(tmp_path, grpcServerPort=8081, metricsExporterType=exporter)
    both = Both(loop, namesrv_settings(tmp_path), broker, 0.0)
    loop.wait_for(both.start())
    grpc = both.front_ends["grpc"]
    assert both._meters is not None and isinstance(grpc, GrpcListener)
    meter = both._meters.front_ends["grpc"]
    assert meter.connections is not None and meter.connections() == 0
    noted = grpc._server._noted
    if exporter == "PROM":
        assert noted is not None
        noted("/S/SendMessage", Status.OK, 0.001)
    if exporter == "PROM":
        assert meter.latency is not None and len(meter.latency.table) == 1
    else:
        assert noted is None and meter.latency is None
    loop.wait_for(both.stop())


def test_without_a_port_there_is_no_grpc(tmp_path: Path) -> None:
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), broker_settings(tmp_path), 0.0)
    loop.wait_for(both.start())
    assert not both.front_ends and both.summary().as_json()["grpc"] is None
    loop.wait_for(both.stop())


def test_files_are_read_again_and_the_supervisor_is_notified_of_progress(tmp_path: Path) -> None:
    loop = Loop()
    broker, namesrv = broker_settings(tmp_path), namesrv_settings(tmp_path)
    both = Both(loop, namesrv, broker, began=0.0)
    assert both.status == ""
    loop.wait_for(both.start())
    assert both.status == f"name server at port {NAMESRV_PORT}, broker at port {BROKER_PORT}"
    changes = [
        Setting("brokerPermission", "4", 1, "broker.conf"),
        Setting("aclEnable", "true", 2, "broker.conf"),
    ]
    waiting = both.reread(changes, [Setting("orderMessageEnable", "true", 1, "namesrv.conf")])
    assert waiting == ["aclEnable"]
    assert broker.broker.broker_permission == 4 and namesrv.options.get("orderMessageEnable") is True
    loop.settle(0.5)
    header = headers.GetRouteInfoRequestHeader(topic="TBW102")
    answer = loop.ask(NAMESRV_PORT, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    assert b'"perm":4' in answer.body
    assert loop.wait_for(both.drain()) is None
    assert both.broker is not None
    both.broker.recovery_seconds, both.broker.recovered = None, 0.42
    assert both.status == "recovering, 42% of the log read"
    loop.wait_for(both.stop())


@pytest.mark.parametrize("port", [NAMESRV_PORT, BROKER_PORT, 9878])
def test_a_port_in_use_stops_the_start_of_all_and_frees_what_they_had(
    tmp_path: Path, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker's, the name server's or the controller's: metrics, ports, threads and locks."""
    loop, threads = Loop(), threading.active_count()
    loop.taken.add(port)

    user = '{"username":"root","password":"secret"}'
    options = {"healthPort": 8081, "authenticationEnabled": "true", "initAuthenticationUser": user}

    def both() -> Both:
        namesrv, broker = namesrv_settings(tmp_path), broker_settings(tmp_path, **options)
        namesrv.options.apply(
            from_flags({"enableControllerInNamesrv": "true", "controllerDLegerPeers": "n0-10.0.0.1:9878"})
        )
        return Both(loop, namesrv, broker, began=0.0)

    failed = both()
    failure = loop.wait_for(failed.start())
    failure.trap(CannotListenError)
    assert not loop.ports
    assert threading.active_count() == threads
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert not [call for call in loop.getDelayedCalls() if call.active()]
    assert loop.wait_for(failed.stop()) is None
    loop.taken.clear()
    again = both()
    assert loop.wait_for(again.start()) is None
    loop.wait_for(again.stop())
    assert not loop.ports


def test_a_stop_during_the_start_leaves_no_front_end(tmp_path: Path) -> None:
    """The start waits for a name server that does not answer while the broker stops."""
    loop = Loop()
    loop.unreachable.add(NAMESRV_PORT)
    settings = broker_settings(tmp_path, namesrvAddr=f"10.0.0.9:{NAMESRV_PORT}", consolePort=8088)
    alone = Both(loop, None, settings, began=0.0)
    started = alone.start()
    stopped = alone.stop()
    loop.wait_for(started)
    loop.wait_for(stopped)
    assert not alone.front_ends and not loop.ports
