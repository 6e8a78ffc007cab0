"""The process of one of several brokers, without being one: its settings, and its messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.cli.container_broker import report_progress
from mqgateway.gateway.cli.served_broker import ServedBroker, settings_from
from mqgateway.gateway.container.children import line_of
from mqgateway.gateway.runtime.schedule import Schedule
from tests.gateway.cli.test_numbering import given
from tests.gateway.cli.test_services import BROKER_PORT, Loop, broker_settings


class Served:
    """A broker on a net in memory, as a child of `mqgateway serve`."""

    def __init__(self, folder: Path, **flags: object) -> None:
        self.loop = Loop()
        self.said: list[dict[str, Any]] = []
        self.parents: list[Any] = []
        self.ends = 0
        self.service = ServedBroker(
            self.loop,  # type: ignore[arg-type]
            broker_settings(folder, **flags),
            0.0,
            say=lambda line: self.said.append(json.loads(line)),
            attach=self._attach,
            end=self._end,
        )

    def _attach(self, protocol: Protocol) -> None:
        self.parents.append(protocol)

    def _end(self) -> None:
        self.ends += 1


def test_it_reports_its_endpoints_and_that_it_is_up(tmp_path: Path) -> None:
    one = Served(tmp_path, grpcServerPort=18081)
    one.loop.wait_for(one.service.start())
    one.service.report_up()
    assert one.said == [
        {"metrics": 0},
        {"frontEnds": {"grpc": "10.0.0.1:18081"}},
        {"up": f"10.0.0.1:{BROKER_PORT}"},
    ]
    one.loop.wait_for(one.service.stop())
    one.parents[0].connectionLost(Failure(ConnectionDone()))
    assert one.ends == 0, "it was stopping already"


def test_it_reports_the_port_of_its_metrics_before_it_is_up(tmp_path: Path) -> None:
    one = Served(
        tmp_path, metricsExporterType="PROM", metricsPromExporterPort=0, metricsPromExporterHost="127.0.0.1"
    )
    started = one.service.start()
    assert [list(message) for message in one.said] == [["metrics"]] and one.said[0]["metrics"] > 0
    one.loop.wait_for(started)
    one.loop.wait_for(one.service.stop())


def test_it_stops_when_its_parent_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = Served(tmp_path)
    one.loop.wait_for(one.service.start())
    one.parents[0].connectionLost(Failure(ConnectionDone()))
    assert one.ends == 1 and "the parent process is gone" in caplog.text
    one.loop.wait_for(one.service.stop())


def test_it_reports_why_it_cannot_start(tmp_path: Path) -> None:
    one = Served(tmp_path)
    one.loop.taken.add(BROKER_PORT)
    failure = one.loop.wait_for(one.service.start())
    assert isinstance(failure, Failure)
    assert str(BROKER_PORT) in one.said[-1]["failed"]


def test_it_reports_the_progress_of_its_start_while_that_changes(tmp_path: Path) -> None:
    loop, said, progress = (
        Loop(),
        [],
        iter(["starting", "starting", "recovering, 7% of the log read", "", "x"]),
    )
    report_progress(Schedule(loop), said.append, lambda: next(progress))
    for _ in range(6):
        loop.settle(1)
    assert [json.loads(line) for line in said] == [
        {"progress": "starting"},
        {"progress": "recovering, 7% of the log read"},
    ]


def test_drain_waits_for_no_broker_that_stops_too(tmp_path: Path) -> None:
    one = Served(tmp_path, drainTimeoutMillis=40_000)
    one.loop.wait_for(one.service.start())
    broker = one.service.broker
    assert broker is not None
    asked: list[tuple[str, ...]] = []

    def drain(leaving: tuple[str, ...]) -> Deferred[None]:
        asked.append(leaving)
        return Deferred()

    broker.drain = drain  # type: ignore[method-assign,assignment]
    drained = one.service.drain()
    one.parents[0].dataReceived(b'{"leaving": ["n-0", "n-1"]}\n')
    one.loop.settle(0)
    assert asked == [("n-0", "n-1")], "the message counts although the signal was handled first"
    drained.cancel()
    assert one.said[-1] == {"shortfall": "a second stop request ended its drain"}
    one.loop.wait_for(one.service.stop())


def test_tables_of_an_added_broker_are_written(tmp_path: Path) -> None:
    one = Served(tmp_path)
    one.loop.wait_for(one.service.start())
    broker = one.service.broker
    assert broker is not None
    broker.broker.tables.topics.put(TopicConfig("Orders", 4, 4))
    folder = tmp_path / "store" / "broker-2"
    settings = {"brokerName": "n-2", "storePathRootDir": str(folder), "listenPort": "0"}
    added = {"given": given(tmp_path), "settings": settings}
    one.parents[0].dataReceived(line_of({"copying": added}))
    done: Deferred[None] = Deferred()
    one.service._worker.run(lambda: None, lambda _: done.callback(None))
    one.loop.wait_for(done)
    assert one.said[-1] == {"copied": {"name": "n-2", "error": ""}}
    assert b"Orders" in (folder / "config" / "topics.json").read_bytes()
    added = {"given": given(tmp_path, "fileReservedTime=many"), "settings": settings}
    one.parents[0].dataReceived(line_of({"copying": added}))
    one.loop.wait_for(one.service.stop())
    assert "fileReservedTime" in one.said[-1]["copied"]["error"]


def test_settings_that_the_parent_changes_are_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = Served(tmp_path)
    one.loop.wait_for(one.service.start())
    one.parents[0].dataReceived(line_of({"grpcPortsOfBrokers": "n-2:8101"}))
    assert one.service.broker is not None
    assert one.service.broker.broker.options.grpc_ports_of_brokers == "n-2:8101"
    one.parents[0].dataReceived(line_of({"grpcPortsOfBrokers": "8101"}))
    assert "grpcPortsOfBrokers=8101" in caplog.text
    one.loop.wait_for(one.service.stop())


def test_removal_is_reported_until_it_is_cancelled(tmp_path: Path) -> None:
    one = Served(tmp_path, rollingRestartPauseMillis=0)
    one.loop.wait_for(one.service.start())
    one.service.remove([])
    one.parents[0].dataReceived(b'{"removing": ["n-0"]}\n')
    one.loop.settle(0)
    (report,) = [message["removal"] for message in one.said if "removal" in message]
    assert report["waits"] == "producers still send to it" and not report["isDone"]
    one.service.remove([])
    said = len(one.said)
    one.loop.settle(5)
    assert len(one.said) == said
    one.loop.wait_for(one.service.stop())


def test_settings_are_those_of_the_command_and_its_own(tmp_path: Path) -> None:
    first = {
        "given": given(tmp_path, "fileReservedTime=48"),
        "settings": {"brokerName": "n-1", "listenPort": "20921", "namesrvAddr": "127.0.0.1:9876"},
    }
    settings = settings_from(first)
    assert (settings.broker.broker_name, settings.broker.listen_port) == ("n-1", 20921)
    assert settings.store.file_reserved_time == 48
    assert settings.options.origin("namesrvAddr") == "--brokers"


def test_error_in_the_settings_is_raised(tmp_path: Path) -> None:
    first = {"given": given(tmp_path, "fileReservedTime=many"), "settings": {}}
    with pytest.raises(ConfigError, match="fileReservedTime"):
        settings_from(first)
