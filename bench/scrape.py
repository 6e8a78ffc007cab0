"""`python -m bench scrape`: the cost for the event loop of a scrape of very many topics and groups.

One broker runs in this process, on a real disk, without sockets: each topic has a message, each group lags in
one topic. A scrape runs as when it is served, incrementally. Measured are the total time and the longest
time that it is blocked, both as CPU time. Other work on the machine lengthens these too, so the total is the
least of several scrapes and the longest time is their median.
"""

import gc
import logging
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from bench.frame import Invocation, benchmark
from bench.in_process import Loop
from bench.measure import measured_on
from bench.requests import BODY, HOST, PROPERTIES
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import Message
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.steps import run_for
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.metrics.observed import EXPORTER, STANDARD, ObservedBroker
from mqgateway.gateway.metrics.pusher import SLICE_SECONDS
from mqgateway.gateway.runtime.service import Runtime

QUEUES = 4


@dataclass
class Scrape:
    """One kind of scrape: milliseconds of the fastest first and later scrape, and of the longest slice."""

    name: str
    lines: int
    bytes: int
    first: float
    later: float
    longest: float


def broker(folder: Path, topics: int, groups: int) -> Callable[[], ObservedBroker]:
    """Start a broker with `topics` topics that have messages and `groups` groups that lag in one topic each.

    Returns a function that makes a new observer of it.
    """
    options = BrokerOptions(
        broker_ip1="127.0.0.1", broker_ip2="127.0.0.1", broker_name="broker-a", metrics_exporter_type="PROM"
    )
    reactor: Any = Loop()
    store = StoreOptions(store_path_root_dir=str(folder / "broker"), mapped_file_size_consume_queue=20 * 1000)
    service = BrokerService(
        OptionSet(options, RemotingOptions(), store, TlsOptions()),
        Runtime(reactor, SystemClock(), RealDisk(), InlineWorker()),
    )
    meters = Meters(options.metrics_otel_cardinality_limit)
    ObservedBroker(service, options, meters, RealDisk())  # starts counting
    service.start()
    while not reactor.listening:  # the store is opened incrementally
        reactor.advance(0)
    made = service.broker
    for number in range(topics):
        name = f"orders-of-shop-{number:05}"
        made.tables.topics.put(TopicConfig(topic_name=name, read_queue_nums=QUEUES, write_queue_nums=QUEUES))
        made.store.put(Message(name, 0, BODY, dict(PROPERTIES), 0, HOST, HOST))
        made.stats.put(name, 1, 1200)
        meters.put(name, "normal", 1, 1200)
    made.store.dispatch()
    for number in range(groups):
        group, name = f"billing-of-shop-{number:05}", f"orders-of-shop-{number:05}"
        made.tables.groups.put(SubscriptionGroupConfig(group_name=group))
        made.stats.got(group, name, 1, 1200)
        for queue in range(QUEUES):
            made.tables.offsets.commit(group, name, queue, 0)

    def observe() -> ObservedBroker:
        observed = ObservedBroker(service, options, meters, RealDisk())
        observed.is_started = True
        return observed

    return observe


def scrape(observed: ObservedBroker, metrics: str) -> tuple[float, float, list[bytes]]:
    """Return the total milliseconds, those of the longest time slice, and the text."""
    text: list[bytes] = []
    clock, slices, done = SystemClock(), [], False
    steps = observed.write(metrics, text, [])
    while not done:
        began = time.thread_time()
        done = run_for(steps, clock, SLICE_SECONDS)
        slices.append((time.thread_time() - began) * 1000)
    return sum(slices), max(slices), text


def measure(observe: Callable[[], ObservedBroker], metrics: str, repeats: int) -> Scrape:
    """Measure first scrapes, each by a new observer, and later scrapes by the last observer."""
    firsts = []
    for _ in range(repeats):
        observed = observe()
        first, _, text = scrape(observed, metrics)
        firsts.append(first)
    later = [scrape(observed, metrics)[:2] for _ in range(repeats)]
    return Scrape(
        metrics,
        sum(part.count(b"\n") for part in text),
        sum(map(len, text)),
        min(firsts),
        min(total for total, _ in later),
        statistics.median(longest for _, longest in later),
    )


def section(scrapes: list[Scrape], topics: int, groups: int, repeats: int) -> list[str]:
    """The section of the page."""
    lines = [
        "## Scrapes of metrics",
        "",
        measured_on(),
        f"One broker with {topics:,} topics that have messages and {groups:,} groups that lag; the CPU time",
        f"of the loop without the writing to a socket, the least of {repeats} scrapes each; first ones make",
        "all labels; the longest slice is the median of later ones. `python -m bench scrape` repeats it.",
        "",
        "| set | lines | MB | first, ms | later, ms | longest slice, ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in scrapes:
        figures = f"{one.first:.0f} | {one.later:.0f} | {one.longest:.1f}"
        lines.append(f"| {one.name} | {one.lines:,} | {one.bytes / 1e6:.1f} | {figures} |")
    return lines


@benchmark("scrape --topics 1000 --groups 200")
@click.option("--topics", default=10_000, show_default=True, help="Topics, each with a message.")
@click.option("--groups", default=2_000, show_default=True, help="Groups that lag, in a topic each.")
@click.option("--repeats", default=30, show_default=True, help="Scrapes of each set after the first.")
def main(given: Invocation, topics: int, groups: int, repeats: int) -> None:
    """Time a scrape of the metrics of many topics and groups."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="mqgateway-scrape-") as folder:
        observe = broker(Path(folder), topics, min(groups, topics))
        gc.collect()
        gc.freeze()
        scrapes = [measure(observe, metrics, repeats) for metrics in (STANDARD, EXPORTER)]
    given.save(scrapes=[asdict(one) for one in scrapes])
    given.write("scrapes", section(scrapes, topics, groups, repeats))
