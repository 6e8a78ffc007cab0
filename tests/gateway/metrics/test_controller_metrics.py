"""Metrics and health of a controller that brokers and tools query."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.controller.local_state import FILE_NAME
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.controller.service import ControllerService
from mqgateway.gateway.metrics.controller_metrics import ControllerTimes
from mqgateway.gateway.metrics.observed import EXPORTER, STANDARD, ObservedController
from tests.support.gateway.controller.world import ControllerWorld
from tests.support.gateway.metrics import parsed

LABELS = (
    ("address", "127.0.0.1:9878"),
    ("group", "g1"),
    ("peer_id", "n0"),
)


class Host:
    """A controller in memory with its metrics."""

    def __init__(self) -> None:
        self.times = ControllerTimes(ManualClock())
        self.world = ControllerWorld(hooks=[self.times])
        self.observed = ObservedController(
            self.world.service, ControllerOptions(), "g1", self.times, self.world.disk, 100
        )
        self.observed.is_started = True

    def scrape(self) -> dict[Any, Any]:
        text: list[bytes] = []
        run(self.observed.write(STANDARD, text, []))
        return parsed(b"".join(text).decode())


def labelled(**more: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((*LABELS, *more.items())))


def test_scrape_counts_requests_elections_and_broker_sets() -> None:
    host = Host()
    first, _ = host.world.pair()
    assert first.elect().code == 2011
    first.lose()
    found = host.scrape()
    assert found["role", labelled()] == 3
    assert found["dledger_disk_usage_bytes", labelled()] > 100
    assert found["active_broker_num", labelled(broker_set="brk")] == 1
    asked = {"request_type": "CONTROLLER_ELECT_MASTER"}
    assert found["request_total", labelled(request_handle_status="success", **asked)] == 2
    assert found["request_latency_microseconds_count", labelled(**asked)] == 2
    agreed = {"dledger_operation": "append", "dLedger_operation_status": "success"}
    assert found["dledger_op_total", labelled(**agreed)] == 5
    assert found["dledger_op_latency_microseconds_count", labelled(dledger_operation="append")] == 5
    results = {"new_master_elected": 2, "keep_current_master": 1}
    for result, count in results.items():
        assert found["election_total", labelled(election_result=result)] == count
    assert found["mqgateway_controller_broker_sets", labelled()] == 1
    assert found["mqgateway_controller_broker_sets_without_master", labelled()] == 0


def test_failed_requests_and_elections_are_counted_apart() -> None:
    host = Host()
    caller = host.world.caller()
    assert caller.ask(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA).code == 1
    caller.ask(RequestCode.SEND_MESSAGE)
    broker = host.world.broker(1)
    broker.start()
    broker.elect()
    broker.lose()
    found = host.scrape()
    failed = {"request_type": "CONTROLLER_GET_SYNC_STATE_DATA", "request_handle_status": "failed"}
    assert found["request_total", labelled(**failed)] == 1
    assert not [labels for name, labels in found if ("request_type", "SEND_MESSAGE") in labels]
    assert found["election_total", labelled(election_result="no_master_elected")] == 1
    assert found["mqgateway_controller_broker_sets_without_master", labelled()] == 1


def test_no_metrics_before_the_start_nor_in_the_exporters_set() -> None:
    host = Host()
    text: list[bytes] = []
    run(host.observed.write(EXPORTER, text, []))
    host.observed.is_started = False
    run(host.observed.write(STANDARD, text, []))
    assert text == [] and not host.observed.health()["role"].is_fine


def test_file_that_is_replaced_during_a_scrape_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    host.world.pair()
    folder, names = host.world.service.folder, host.world.disk.listdir(host.world.service.folder)
    listed = [*names, f"{FILE_NAME}.gone"]
    monkeypatch.setattr(host.world.disk, "listdir", lambda path: listed if path == folder else [])
    assert host.scrape()["dledger_disk_usage_bytes", labelled()] > 100


def test_controller_without_a_known_leader_is_not_ready() -> None:
    state = SimpleNamespace(is_leader=False, leader=None, sets={}, term=0)
    controller = SimpleNamespace(
        state=state, alive_brokers=list, counts=Host().world.service.controller.counts
    )
    peer = SimpleNamespace(address="h:1", peer_id="n1")
    service = cast(ControllerService, SimpleNamespace(controller=controller, peer=peer, folder=""))
    times = ControllerTimes(ManualClock())
    observed = ObservedController(service, ControllerOptions(), "g1", times, None, 100)  # type: ignore[arg-type]
    observed.is_started = True
    text: list[bytes] = []
    run(observed.write(STANDARD, text, []))
    whole = b"".join(text).decode()
    assert 'role{address="h:1",group="g1",otel_scope_name="controller",peer_id="n1"} 0' in whole
    assert "dledger_disk_usage" not in whole
    assert not observed.health()["role"].is_fine
    state.leader = SimpleNamespace(peer_id="n0", address="h:0")
    assert observed.health()["role"] == (True, "follows n0 at h:0")
    state.is_leader, state.term = True, 7
    assert observed.health()["role"] == (True, "leads in term 7")
