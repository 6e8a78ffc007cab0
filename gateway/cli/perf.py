"""`mqgateway perf produce|consume`: throughput and latency of sends to a topic and of its consumption.

While it runs, standard error shows messages and rate (if it is a terminal). At the end, and at Ctrl-C, it
prints a table, or with `--json` one object: messages, failures, seconds, rate a second, bytes a second,
latencies in ms. The latency of a send is from the call to the answer. The latency of a message is from its
born time at the sender to the listener here, by both clocks. The rate is that from the first to the last
message. For messages stored before, it counts from the arrival of the first, without the consumer's start.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.gateway.cli.client_flags import check_topic, client_flags, reports_errors, settings
from mqgateway.gateway.cli.ending import FAILED, complain
from mqgateway.gateway.cli.examples import examples
from mqgateway.gateway.cli.explaining import explained, is_final
from mqgateway.gateway.cli.perf_latency import Latencies

if TYPE_CHECKING:
    from mqgateway.gateway.client.errors import ClientError
    from mqgateway.gateway.client.listening import Context
    from mqgateway.gateway.client.message import ReceivedMessage

_PRODUCE = (
    "mqgateway perf produce BenchmarkTest --size 1024 --concurrency 64 --seconds 30",
    "mqgateway perf produce BenchmarkTest --messages 100000 --batch 32 --json",
)
_CONSUME = ("mqgateway perf consume BenchmarkTest -g bench --from first --seconds 30",)
EXAMPLES = examples(*_PRODUCE, *_CONSUME)
EXAMPLES_PRODUCE, EXAMPLES_CONSUME = examples(*_PRODUCE), examples(*_CONSUME)

REFRESH_SECONDS = 0.25
LAST_SECONDS = 3.0
"""Maximum wait for sends in flight at Ctrl-C."""


@click.group(epilog=EXAMPLES)
def perf() -> None:
    "Measure the throughput and latency of sends and consumption."


def limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that limit a measurement."""
    for option in (
        click.option(
            "--seconds",
            type=float,
            default=10.0,
            show_default=True,
            help="Exit after this number of seconds.",
        ),
        click.option("--messages", type=click.IntRange(1), help="Exit after this number of messages."),
    ):
        command = option(command)
    return command


@perf.command(epilog=EXAMPLES_PRODUCE)
@click.argument("topic")
@click.option("-g", "--group", default="mqgateway-perf", show_default=True, help="Producer group.")
@click.option(
    "--size", default=1024, show_default=True, type=click.IntRange(1), help="Size of a body in bytes."
)
@click.option("--batch", default=1, show_default=True, type=click.IntRange(1), help="Messages in one send.")
@click.option(
    "--concurrency",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum number of sends in flight.",
)
@limits
@client_flags
@reports_errors
def produce(**given: Any) -> None:
    """Measure the throughput and latency of sending to TOPIC."""
    from mqgateway.gateway.client import Producer

    meter = Meter(SystemClock(), given["messages"], given["seconds"])
    producing = Producer(given["group"], **settings(given))
    with meter.reported(given["as_json"]), producing as producer, meter.shown("sent"):
        send_all(producer, given, meter)
    if not meter.count:
        if not meter.failures:
            complain(f"nothing was sent within {given['seconds']:g} s; use a larger --seconds")
        raise SystemExit(FAILED)


@perf.command(epilog=EXAMPLES_CONSUME)
@click.argument("topic")
@click.option("-g", "--group", default="mqgateway-perf", show_default=True, help="Consumer group.")
@click.option(
    "--from",
    "begin",
    type=click.Choice(("first", "last")),
    default="last",
    show_default=True,
    help="Start position of a group without committed offsets.",
)
@limits
@client_flags
@reports_errors
def consume(**given: Any) -> None:
    """Measure the throughput of consuming TOPIC."""
    from mqgateway.gateway.cli.consume import BEGINNINGS
    from mqgateway.gateway.client import PushConsumer

    clock = SystemClock()
    meter = Meter(clock, given["messages"], given["seconds"])

    def take(messages: Sequence[ReceivedMessage], context: Context) -> None:
        now = clock.millis()
        ages = Counter([now - message.born_timestamp for message in messages])
        octets = sum([len(message.body) for message in messages])
        meter.add(len(messages), octets, {max(0, age) / 1000: count for age, count in ages.items()})

    chosen = {"consume_message_batch_max_size": 32, **settings(given)}
    chosen["consume_from_where"] = BEGINNINGS[given["begin"]]
    check_topic(given["topic"], chosen)
    consumer = PushConsumer(given["group"], take, on_failure=meter.refused, **chosen)
    consumer.subscribe(given["topic"])
    with meter.reported(given["as_json"]), consumer, meter.shown("consumed"):
        meter.wait()
    if meter.is_refused:
        raise SystemExit(FAILED)


def send_all(producer: Any, given: dict[str, Any], meter: Meter) -> None:
    """Keep `concurrency` sends in flight up to the limit or Ctrl-C, then wait for them."""
    line = _Line(producer, given, meter)
    try:
        line.run(given["concurrency"])
    except KeyboardInterrupt:
        line.is_over = True
        line.wait()
        raise
    finally:
        line.is_over = True


class _Line:
    """Chains of sends: a completed send begins the next, in the thread of its answer.

    If another thread began them, the measurement would be mostly of thread switches.
    """

    def __init__(self, producer: Any, given: dict[str, Any], meter: Meter) -> None:
        from mqgateway.gateway.client import Message

        self._message = Message
        self._producer = producer
        self._topic = given["topic"]
        self._body = bytes(index % 95 + 32 for index in range(given["size"]))
        self._count = given["batch"]
        self._meter = meter
        self._ended = threading.Semaphore(0)
        self._in_flight = 0
        self.is_over = False

    def run(self, concurrency: int) -> None:
        """Begin `concurrency` chains of sends and wait until all end."""
        for _ in range(concurrency):
            self._in_flight += 1
            self._begin()
        self.wait()

    def wait(self) -> None:
        """Wait until all chains end. After the end of the measurement, wait `LAST_SECONDS` for an answer."""
        while self._in_flight and self._ended.acquire(timeout=LAST_SECONDS if self.is_over else None):
            self._in_flight -= 1

    def _begin(self) -> None:
        if self.is_over or self._meter.is_enough(self._count):
            self._ended.release()
            return
        began = self._meter.clock.monotonic()
        self._send().add_done_callback(partial(self._done, began))

    def _send(self) -> Future[Any]:
        future: Future[Any]
        if self._count == 1:
            future = self._producer.send_async(self._message(self._topic, self._body))
        else:
            messages = [self._message(self._topic, self._body) for _ in range(self._count)]
            future = self._producer.send_batch_async(messages)
        return future

    def _done(self, began: float, future: Future[Any]) -> None:
        count = self._count
        error = future.exception()
        if error is None:
            self._meter.sent(count, count * len(self._body), began)
        else:
            self._meter.failed(count, error)
        self._begin()


class Meter:
    """Counter of messages and latencies with a limit. Thread-safe."""

    def __init__(self, clock: Clock, messages: int | None, seconds: float) -> None:
        self.clock = clock
        self._most = messages
        self._seconds = seconds
        self._lock = threading.Lock()
        self._enough = threading.Event()
        self._began = clock.monotonic()
        self._first: float | None = None
        self._last = self._began
        self.latencies = Latencies()
        self.count = self.failures = self.begun = self.octets = 0
        self.is_refused = False
        self._reasons: set[str] = set()

    def add(self, count: int, octets: int, latencies: Mapping[float, int]) -> None:
        """Count completed messages; `latencies` maps each latency in seconds to its number of messages."""
        with self._lock:
            for latency, times in latencies.items():
                self.latencies.add(latency, times)
            now = self.clock.monotonic()
            born = now - max(latencies)
            self._count(count, octets, born if born >= self._began else now, now)

    def sent(self, count: int, octets: int, began: float) -> None:
        """Count messages of one completed send, begun at `began` by the monotonic clock."""
        now = self.clock.monotonic()
        with self._lock:
            self.latencies.add(now - began)
            self._count(count, octets, began, now)

    def _count(self, count: int, octets: int, began: float, now: float) -> None:
        self._last = now
        if self._first is None:
            self._first = began
        self.count += count
        self.octets += octets
        if self._most is not None and self.count >= self._most:
            self._enough.set()

    def failed(self, count: int, error: BaseException | None = None) -> None:
        """Count messages of a failed send. Each reason is reported once."""
        with self._lock:
            self.failures += count
            if error is not None:
                self._report_once(error)

    def refused(self, error: ClientError) -> None:
        """Report a failed request of the consumer. A final error ends the measurement."""
        with self._lock:
            self._report_once(error)
        if is_final(error):
            self.is_refused = True
            self._enough.set()

    def _report_once(self, error: BaseException) -> None:
        from mqgateway.gateway.client.errors import ClientError

        text = explained(error) if isinstance(error, ClientError) else repr(error)
        if text not in self._reasons:
            self._reasons.add(text)
            complain(text)

    def is_enough(self, count: int) -> bool:
        """Return True if the limit is reached, else count `count` more messages as begun."""
        with self._lock:
            if self._most is not None and self.begun >= self._most:
                return True
            self.begun += count
        return self.clock.monotonic() - self._began >= self._seconds

    def wait(self) -> None:
        """Wait until the limit is reached."""
        self._enough.wait(self._seconds)

    @property
    def rate(self) -> float:
        """Messages a second."""
        elapsed = self._last - (self._began if self._first is None else self._first)
        return self.count / elapsed if elapsed > 0 else 0.0

    def result(self) -> dict[str, Any]:
        """Return the result as printed by `--json`."""
        elapsed = self._last - (self._began if self._first is None else self._first)
        return {
            "messages": self.count,
            "failures": self.failures,
            "seconds": round(elapsed, 3),
            "messagesPerSecond": round(self.rate, 1),
            "bytesPerSecond": round(self.octets / elapsed) if elapsed > 0 else 0,
            "latencyMillis": self.latencies.as_millis(),
        }

    @contextmanager
    def reported(self, as_json: bool) -> Iterator[None]:
        """Print the result when the block ends, also at Ctrl-C."""
        try:
            yield
        except KeyboardInterrupt:
            self.report(as_json)
            raise
        self.report(as_json)

    def report(self, as_json: bool) -> None:
        """Print the result."""
        if as_json:
            click.echo(json.dumps(self.result()))
            return
        from rich.console import Console
        from rich.table import Table

        result = self.result()
        table = Table(show_header=False, box=None)
        table.add_row("messages", f"{result['messages']:,}")
        table.add_row("failures", f"{result['failures']:,}")
        table.add_row("seconds", f"{result['seconds']:.2f}")
        table.add_row("rate", f"{result['messagesPerSecond']:,.0f} messages/s")
        table.add_row("throughput", f"{result['bytesPerSecond'] / 1024**2:,.2f} MiB/s")
        for name, value in result["latencyMillis"].items():
            table.add_row(f"latency {name}", f"{value:,.2f} ms")
        Console(file=sys.stdout).print(table)

    def shown(self, what: str) -> Any:
        """Return a context that shows progress on standard error, if that is a terminal."""
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        class Line:
            def __rich__(line) -> Text:
                return Text(f"{self.count:,} {what}, {self.rate:,.0f}/s, {self.failures} failed")

        console = Console(stderr=True)
        return Live(
            Line(),
            console=console,
            refresh_per_second=1 / REFRESH_SECONDS,
            transient=True,
            auto_refresh=console.is_terminal,
        )
