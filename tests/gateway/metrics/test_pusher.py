"""Metrics are pushed at intervals, one push at a time, and failures are logged once."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.metrics import pusher
from mqgateway.gateway.metrics.metric import MetricKind
from mqgateway.gateway.metrics.points import Family, Point
from mqgateway.gateway.metrics.pusher import Pusher


class Counting:
    """Source whose counter grows by one with each read of two steps; the fourth read fails."""

    name, is_started, value = "broker", True, 0

    def points(self) -> Steps[list[Family]]:
        yield
        yield
        self.value += 1
        if self.value == 4:
            raise ValueError("a broken table")
        return [Family("c", MetricKind.COUNTER, "", "", (), [Point({}, self.value)])]


class Target:
    waits = False

    def __init__(self) -> None:
        self.sent: list[tuple[Any, int, int]] = []
        self.failure: Exception | None = None

    def send(self, families: list[Family], began: int, now: int) -> None:
        if self.failure is not None:
            raise self.failure
        self.sent.append((families[0].points[0].value, began, now))


class Scene:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, **given: Any) -> None:
        self.target, self.loop, self.clock = Target(), Clock(), ManualClock(0)
        monkeypatch.setattr(pusher, "target_of", lambda _: self.target)
        options = BrokerOptions(metrics_exporter_type="LOG", **given)
        observed: Any = [Counting()]
        loop: Any = self.loop
        self.pusher = Pusher(options, observed, loop, self.clock)
        self.pusher.start()

    def pass_seconds(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1000)
            self.loop.advance(1)


def test_metrics_are_pushed_every_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch)
    scene.pass_seconds(25)
    assert scene.target.sent == [(1, 0, 10_000), (2, 0, 20_000)]
    scene.pusher.stop()
    scene.pass_seconds(25)
    assert len(scene.target.sent) == 2 and not scene.loop.getDelayedCalls()


def test_deltas_count_since_the_previous_push(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, metrics_in_delta=True)
    scene.pass_seconds(30)
    assert scene.target.sent == [(1, 0, 10_000), (1, 10_000, 20_000), (1, 20_000, 30_000)]


def test_failures_are_logged_once_and_pushes_continue(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(monkeypatch)
    scene.target.failure = OSError("nobody there")
    scene.pass_seconds(20)
    assert caplog.text.count("metrics cannot be exported: nobody there") == 1
    scene.target.failure = None
    scene.pass_seconds(10)
    assert caplog.text.count("metrics are exported again") == 1
    scene.pass_seconds(20)
    assert "a broken table" in caplog.text
    assert [value for value, _, _ in scene.target.sent] == [3, 5]


def test_push_is_skipped_while_one_is_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch)
    scene.pusher._worker = worker = MemoryWorker()
    scene.pass_seconds(35)
    assert worker.waiting == 1 and scene.target.sent == []
    worker.perform_all()
    scene.pass_seconds(10)
    worker.perform_all()
    assert [value for value, _, _ in scene.target.sent] == [1, 2]


def test_missing_target_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    loop: Any = Clock()
    Pusher(BrokerOptions(metrics_exporter_type="OTLP_GRPC"), [], loop, ManualClock()).start()
    assert "metricsGrpcExporterTarget" in caplog.text and not loop.getDelayedCalls()
