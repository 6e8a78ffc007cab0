"""Debian's Prometheus and its tool: our rules are right, our server is scraped, and alerts fire."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from compat_tests.support.processes import free_ports, start_logged, stop, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, ROOT, Part
from mqgateway import Message, Producer
from mqgateway.gateway.codec.codes import RequestCode

DASHBOARDS = ROOT / "dashboards"
SECONDS = 60
"""Time limit of each step."""
COMMIT = RequestCode.UPDATE_CONSUMER_OFFSET
CREATE_GROUP = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
SERVE = """
import os, sys
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.main import main

marker, usage, capacity = sys.argv.pop(1), RealDisk.usage, RealDisk.capacity
def full(one):
    return lambda self, path: (1 << 30, 1 << 20) if os.path.exists(marker) else one(self, path)
RealDisk.usage, RealDisk.capacity = full(usage), full(capacity)
main()
"""
"""Our server, on a disk that reports itself full as soon as a certain file exists."""


def program(name: str) -> str:
    """Return the path of an installed program."""
    found = shutil.which(name)
    assert found, f"{name} is missing: apt-get install prometheus"
    return found


def test_alert_rules_pass_their_tests() -> None:
    command = [program("promtool"), "test", "rules", "rules_test.yml"]
    done = subprocess.run(command, cwd=DASHBOARDS, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Prometheus:
    """A Prometheus that scrapes a port every second; alerts fire as soon as they are true."""

    def __init__(self, folder: Path, port: int) -> None:
        self._url = f"http://{HOST}:{free_ports()}"
        for name in ("rules.yml", "rules-exporter.yml"):
            text = re.sub(r"for: \d+m", "for: 0s", (DASHBOARDS / name).read_text())
            (folder / name).write_text(text)
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml", "rules-exporter.yml"],
            "scrape_configs": [
                {"job_name": "rocketmq", "static_configs": [{"targets": [f"{HOST}:{port}"]}]},
            ],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        command = [program("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
        command.append(f"--web.listen-address={self._url.removeprefix('http://')}")
        self._popen = start_logged(command, folder / "prometheus.log", cwd=folder)

    def ask(self, path: str) -> Any:
        """Return the answer of the API; None while it is not up."""
        try:
            with urlopen(f"{self._url}/api/v1/{path}", timeout=5) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def firing(self) -> set[str]:
        """Return the names of the firing alerts."""
        alerts = (self.ask("alerts") or {}).get("alerts", ())
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def targets(self) -> list[str]:
        """Return the health of the targets."""
        return [target["health"] for target in (self.ask("targets") or {}).get("activeTargets", ())]

    def stop(self) -> None:
        """Stop the process."""
        stop(self._popen)


@contextmanager
def scraping(work: Path, port: int) -> Iterator[Prometheus]:
    """Run a Prometheus, and wait until it has scraped the server."""
    folder = work / "prometheus"
    folder.mkdir()
    prometheus = Prometheus(folder, port)
    try:
        wait_until(lambda: prometheus.targets() == ["up"], SECONDS, "the server is scraped")
        yield prometheus
    finally:
        prometheus.stop()


@contextmanager
def serving(work: Path, metrics_port: int, marker: Path) -> Iterator[tuple[str, str]]:
    """Run a server that exports metrics; yield the addresses of its name server and broker."""
    namesrv_port, broker_port = free_ports(), free_ports((-2, 0, 1))
    command = [sys.executable, "-c", SERVE, str(marker), "serve", "--data-dir", str(work / "alerts")]
    command += ["--bind", HOST, "--advertise", HOST, "--console-port", "0"]
    command += ["--namesrv-port", str(namesrv_port), "--broker-port", str(broker_port)]
    for setting in (
        "metricsExporterType=PROM",
        f"metricsPromExporterPort={metrics_port}",
        f"metricsPromExporterHost={HOST}",
    ):
        command += ["--set", setting]
    addresses = [f"{HOST}:{namesrv_port}", f"{HOST}:{broker_port}"]
    part = Part(command, work / "alerts.log", "ready", addresses, {"PYTHONPATH": str(ROOT)})
    part.start()
    try:
        yield addresses[0], addresses[1]
    finally:
        part.kill9()


@pytest.mark.overlap
def test_alerts_fire_for_a_stopped_group_and_a_full_disk(tmp_path: Path) -> None:
    port, marker = free_ports(), tmp_path / "the-disk-is-full"
    with serving(tmp_path, port, marker) as (namesrv, broker), scraping(tmp_path, port) as prometheus:
        with Producer("AlertProducers", namesrv) as producer:
            for number in range(3):
                producer.send(Message("AlertTopic", f"message {number}"))
        assert not prometheus.firing()
        with RawConnection(broker) as connection:
            made = connection.ask(CREATE_GROUP, body=b'{"groupName":"AlertGroup"}')
            assert made is not None and made.code == 0
            for queue_id in range(4):
                place = {"topic": "AlertTopic", "queueId": str(queue_id), "commitOffset": "0"}
                done = connection.ask(COMMIT, {"consumerGroup": "AlertGroup", **place})
                assert done is not None and done.code == 0
        wait_until(lambda: "RocketMQGroupStopped" in prometheus.firing(), SECONDS, "an alert: no consumer")
        marker.touch()
        full = {"RocketMQTakesNoMessages", "RocketMQDiskFills"}
        wait_until(lambda: full <= prometheus.firing(), SECONDS, "alerts: the disk is full")
