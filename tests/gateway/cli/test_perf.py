"""`mqgateway perf`, with a whole broker in memory and a clock moved by hand."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.cli.perf import Meter
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.client.message import Message
from tests.support.gateway.client.cluster import NAMESRV
from tests.support.gateway.client.facing import faced


def perf(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["perf", *arguments, "-n", NAMESRV])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("batch", ["1", "10"])
def test_producing(monkeypatch: pytest.MonkeyPatch, batch: str) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        arguments = ("--messages", "20", "--size", "100", "--batch", batch, "--concurrency", "4")
        result = json.loads(perf("produce", "T", *arguments, "--json").output)
        assert (result["messages"], result["failures"]) == (20, 0)
        assert result["latencyMillis"]["p99"] > 0 and result["messagesPerSecond"] > 0
        assert [len(body) for body in cluster.stored("T")] == [100] * 20


def test_failures_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch, auto_create_topic_enable=False):
        arguments = ["perf", "produce", "Nowhere", "--messages", "3", "--json", "-n", NAMESRV]
        ended = CliRunner().invoke(main, arguments)
        result = json.loads(ended.stdout)
        assert (result["messages"], result["failures"]) == (0, 3)
        assert ended.exit_code == 1 and ended.stderr.count("\n") == 1, "each reason once"
        assert ended.stderr.startswith("mqgateway: error: there is no topic Nowhere; see")


def test_perf_consume_ends_with_an_error_when_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter(ManualClock(), None, 1e6)
    meter.refused(BrokerError(16, "check signature failed.", "a:1"))
    meter.wait()
    assert meter.is_refused
    expected = "mqgateway: error: a:1 answered 16: check signature failed; check the secret key\n"
    assert capsys.readouterr().err == expected


def test_consuming(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        for number in range(50):
            cluster.run(producer.send(Message("T", f"{number}")))
        monkeypatch.setattr(Meter, "wait", lambda meter: cluster.wait_for(lambda: meter.count == 50))
        text = perf("consume", "T", "--from", "first", "--messages", "50").output
        assert "messages" in text and "50" in text and "latency p99.9" in text


def test_a_topic_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch):
        result = CliRunner().invoke(main, ["perf", "consume", "Nope", "-n", NAMESRV])
        assert result.exit_code == 3
        assert result.stderr.startswith("mqgateway: error: there is no topic Nope; see")


def test_ctrl_c_prints_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(what: object) -> None:
        raise KeyboardInterrupt

    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        monkeypatch.setattr(Meter, "wait", interrupted)
        result = CliRunner().invoke(main, ["perf", "consume", "T", "--json", "-n", NAMESRV])
        assert (result.exit_code, json.loads(result.output)["messages"]) == (130, 0)
        asked: list[int] = []
        really = Meter.is_enough

        def is_enough(meter: Meter, count: int) -> bool:
            asked.append(count)
            if len(asked) == 6:
                raise KeyboardInterrupt
            return really(meter, count)

        monkeypatch.setattr(Meter, "is_enough", is_enough)
        arguments = ["produce", "T", "--concurrency", "1", "--json", "-n", NAMESRV]
        result = CliRunner().invoke(main, ["perf", *arguments])
        assert (result.exit_code, json.loads(result.output)["messages"]) == (130, 5)


def test_a_meter_knows_when_it_is_enough() -> None:
    clock = ManualClock()
    meter = Meter(clock, 10, 60.0)
    assert not meter.is_enough(4) and not meter.is_enough(4) and not meter.is_enough(4)
    assert meter.is_enough(4)
    by_time = Meter(clock, None, 5.0)
    assert not by_time.is_enough(1)
    clock.advance(5000)
    assert by_time.is_enough(1)
    by_time.wait = lambda: None  # type: ignore[method-assign]


def test_rates_are_counted_from_the_first_to_the_last() -> None:
    clock = ManualClock()
    meter = Meter(clock, 3, 60.0)
    assert meter.result()["messagesPerSecond"] == 0.0
    clock.advance(10_000)  # nothing comes for a while
    for _ in range(3):
        clock.advance(500)
        meter.add(1, 1000, {0.5: 1})
    result = meter.result()
    assert (result["seconds"], result["messagesPerSecond"], result["bytesPerSecond"]) == (1.5, 2.0, 2000)
    meter.wait()  # three is enough


def test_the_rate_of_what_was_there_before_counts_from_when_it_comes() -> None:
    clock = ManualClock()
    meter = Meter(clock, None, 60.0)
    clock.advance(2_000)  # the consumer starts
    for _ in range(4):
        meter.add(100, 1000, {3600.0: 100})
        clock.advance(500)
    result = meter.result()
    assert (result["seconds"], result["messagesPerSecond"]) == (1.5, 266.7)


def test_perf_produce_that_sent_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        ended = CliRunner().invoke(main, ["perf", "produce", "T", "--seconds", "0", "-n", NAMESRV])
        assert ended.exit_code == 1
        assert ended.stderr == "mqgateway: error: nothing was sent within 0 s; use a larger --seconds\n"
