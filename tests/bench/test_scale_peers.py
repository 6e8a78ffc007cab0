"""Simulated peers: their requests and the pace of these; all steps on a small name server."""

import asyncio
import json
from pathlib import Path

import pytest

from bench import scale_names
from bench.scale_names import measure, model
from bench.scale_part import Finding, Plan
from bench.scale_peers import Layout, Timings, heartbeat, paced, registration, route_request, topic_name
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import decode_command

LAYOUT = Layout(brokers=8, topics=40, spread=4)


def test_every_topic_is_on_all_brokers_of_one_cluster() -> None:
    by_cluster = [{name for n in range(first, first + 4) for name in LAYOUT.topics_of(n)} for first in (0, 4)]
    assert by_cluster[0] | by_cluster[1] == set(map(topic_name, range(40)))
    assert not by_cluster[0] & by_cluster[1]
    assert set(LAYOUT.topics_of(0)) == set(LAYOUT.topics_of(3)) == by_cluster[0]


def test_a_registration_names_the_broker_and_its_topics() -> None:
    command = decode_command(registration(LAYOUT, 5, 2, ["more"])[4:])
    assert command.code == RequestCode.REGISTER_BROKER
    assert (command.ext_fields["brokerName"], command.ext_fields["clusterName"]) == (
        "broker-00005",
        "cluster-1",
    )
    wrapper = json.loads(command.body)["topicConfigSerializeWrapper"]
    assert set(wrapper["topicConfigTable"]) == {*LAYOUT.topics_of(5), "more"}
    assert wrapper["dataVersion"]["counter"] == 2


def test_heartbeats_and_questions() -> None:
    request, question = decode_command(heartbeat(LAYOUT, 300)[4:]), decode_command(route_request("t")[4:])
    assert (request.code, request.ext_fields["brokerAddr"]) == (
        RequestCode.BROKER_HEARTBEAT,
        "10.0.1.44:10911",
    )
    assert (question.code, question.ext_fields["topic"]) == (RequestCode.GET_ROUTEINFO_BY_TOPIC, "t")


def test_failed_calls_are_counted() -> None:
    async def failing() -> None:
        raise RuntimeError("busy")

    async def answered() -> None:
        await asyncio.sleep(0)

    async def both() -> Timings:
        timings = Timings()
        await timings.time(failing())
        await timings.time(answered())
        return timings

    timings = asyncio.run(both())
    assert timings.failed == 1 and len(timings.taken) == 1 and timings.figures()["failed"] == 1


def test_a_pace_is_kept() -> None:
    started = []

    async def start() -> None:
        started.append(1)

    late = asyncio.run(paced(500, 0.1, start))
    assert 0 < len(started) <= 50 and late >= 0


def test_small_run_serves_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_names, "POLL_SECONDS", 0.5)
    findings = list(measure(Plan(0.001, False, tmp_path, lambda _: None)))
    by_name = {one.what: one.figures for one in findings}
    assert len(by_name) == 10
    assert not any(figures.get("failed") for figures in by_name.values())
    assert by_name["clients connect"]["count"] == 50
    assert by_name["polls of 50 clients"]["p50_ms"] > 0


def test_the_model_goes_by_what_was_measured() -> None:
    figures = {"cpu_seconds": 1.0, "count": 10_000.0, "resident_mb": 100.0}
    names = (
        "the same routes again",
        "routes, each asked for once",
        "the same words again",
        "clients connect",
    )
    findings = [Finding("names", "ours", name, {**figures, "resident_mb": 150.0}) for name in names]
    assert model(findings) == []
    findings.append(Finding("names", "ours", "brokers register with one topic more", figures))
    lines = model(findings)
    assert "A known route costs 100 µs" in lines[0] and "a connection 5.0 KB" in lines[1]
    assert lines[-1].startswith("| 10,000 | 1,000,000 | 66,667 | 670 | 5,050 |")
