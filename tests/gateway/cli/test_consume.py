"""`mqgateway consume`, with a whole broker in memory."""

from __future__ import annotations

import io
import json
import threading

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.consume import Printer
from mqgateway.gateway.cli.ending import READER_GONE
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import Message
from tests.gateway.client.test_message import received
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of
from tests.support.gateway.client.facing import faced


def consume(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, count: int, *arguments: str) -> Result:
    """Run the command until so many messages are printed; time is moved by hand."""

    def wait(printer: Printer, idle: float | None) -> None:
        cluster.wait_for(lambda: printer.count >= count)

    monkeypatch.setattr(Printer, "wait", wait)
    result = CliRunner().invoke(main, ["consume", "T", "-g", "G", "-n", NAMESRV, *arguments])
    assert result.exit_code == 0, result.output
    return result


def fill(cluster: Cluster, count: int = 3) -> None:
    cluster.make_topic("T", queues=1)
    producer = cluster.producer()
    for number in range(count):
        properties = {"a": str(number)}
        cluster.run(producer.send(Message("T", f"body {number}", tags=f"tag{number}", properties=properties)))


def test_a_line_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        fill(cluster)
        lines = consume(monkeypatch, cluster, 3, "--from", "first").output.splitlines()
        assert [line.split("  ")[1:] for line in lines] == [
            [f"broker-a/0@{n}", f"tag{n}", f"body {n}"] for n in range(3)
        ]
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 3


def test_an_object_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch, enable_property_filter=True) as cluster:
        fill(cluster)
        result = consume(monkeypatch, cluster, 1, "--from", "first", "--json", "--sql", "a = 1")
        shown = json.loads(result.output)
        assert (shown["body"], shown["queueOffset"], shown["properties"]["TAGS"]) == ("body 1", 1, "tag1")


def test_tags_order_and_broadcast(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        fill(cluster)
        found = consume(monkeypatch, cluster, 1, "--from", "first", "--tags", "tag2", "--ordered")
        assert "body 2" in found.output and len(found.output.splitlines()) == 1
        cluster.disk.makedirs("/tmp")
        found = consume(
            *(monkeypatch, cluster, 3, "--from", "time", "--time", "20200101000000", "--broadcast"),
            *("--set", "rocketmq.client.localOffsetStoreDir=/offsets"),
        )
        assert len(found.output.splitlines()) == 3


def test_printer_leaves_messages_after_the_last_wanted_one() -> None:
    out = io.StringIO()
    printer = Printer(out, "text", 2)
    context = Context(queue_of("T"))
    listed = [printer([received()], context) for _ in range(3)]
    assert listed == [Consumed.SUCCESS, Consumed.SUCCESS, Consumed.LEAVE]
    printer.wait(None)
    assert printer.count == 2 and len(out.getvalue().splitlines()) == 2


class _ClosedAfter(io.StringIO):
    """A pipe whose reader leaves after so many lines."""

    lines = 2

    def write(self, text: str) -> int:
        if text != "\n":
            self.lines -= 1
        if self.lines < 0:
            raise SystemExit(READER_GONE)  # as `ending.Output` does
        return super().write(text)


@pytest.mark.parametrize("arguments", [(), ("--ordered",)])
def test_consume_into_a_closed_pipe_acknowledges_what_was_printed_and_returns_nothing(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    with faced(monkeypatch) as cluster:
        fill(cluster, 5)
        original = Printer.wait

        def wait(printer: Printer, idle: float | None) -> None:
            printer._out = _ClosedAfter()
            cluster.wait_for(lambda: printer._is_over)
            original(printer, idle)

        monkeypatch.setattr(Printer, "wait", wait)
        result = CliRunner().invoke(
            main, ["consume", "T", "-g", "G", "-n", NAMESRV, "--from", "first", *arguments]
        )
        assert (result.exit_code, result.output) == (READER_GONE, "")
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 2
        cluster.settle(60.0)
        retries = cluster.broker.tables.topics.get("%RETRY%G")
        assert retries is None or cluster.broker.store.max_offset("%RETRY%G", 0) == 0


def test_consume_ends_when_a_broker_refuses_it(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(io.StringIO(), "text")
    printer.failed(BrokerError(1, "try again", "a:1"))
    printer.failed(BrokerError(1, "try again", "a:1"))
    assert capsys.readouterr().err == "mqgateway: warning: a:1 answered 1: try again\n"
    refusal = BrokerError(16, "alice has no permission.", "a:1")
    printer.failed(refusal)
    with pytest.raises(BrokerError) as ended:
        printer.wait(None)
    assert ended.value is refusal


def test_it_ends_when_nothing_comes() -> None:
    printer = Printer(io.StringIO(), "text")
    printer.wait(0.0)

    class Waking(threading.Condition):
        waits = 0

        def wait(self, timeout: float | None = None) -> bool:
            Waking.waits += 1
            printer.count += Waking.waits < 3  # something comes twice
            return True

    printer._changed = Waking(printer._lock)
    printer.wait(5.0)
    assert Waking.waits == 3


def test_bytes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=1)
        body = bytes(range(256))
        cluster.run(cluster.producer().send(Message("T", body)))
        assert consume(monkeypatch, cluster, 1, "--from", "first", "--raw").stdout_bytes == body


def test_a_topic_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with faced(monkeypatch):
        result = CliRunner().invoke(main, ["consume", "Nope", "-g", "G", "-n", NAMESRV])
        assert result.exit_code == 3
        assert result.stderr.startswith(
            "mqgateway: error: there is no topic Nope; see 'mqgateway topic list'"
        )
