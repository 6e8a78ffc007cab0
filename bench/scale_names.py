"""The part `names` of `bench.scale`: a name server with very many brokers, topics and clients."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.scale_load import LoadProcess, beside, used_by
from bench.scale_part import Column, Finding, Part, Plan
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, apache_namesrv, our_namesrv, registered
from compat_tests.support.servers import Part as Process

BROKERS, TOPICS, SPREAD, CLIENTS = 2_000, 100_000, 4, 50_000
TOPICS_A_CLIENT = 2
POLL_SECONDS = 20.0
AT_ONCE, CLIENTS_AT_ONCE = 8, 32
GONE_SECONDS = 120.0

MAKERS: dict[str, Callable[[Path, int], Process]] = {
    "ours": our_namesrv,
    "apache": lambda folder, port: apache_namesrv(folder, port, production=True),
}
LEAD = (
    "One name server; brokers and clients are simulated in one process beside it, each with a connection",
    f"of its own. Clusters of {SPREAD} brokers; a topic is on all brokers of its cluster, with 4 queues.",
    "Latencies are those that the load sees, its own waiting included. Apache's name server has a heap of",
    "256 MB. Polls: so many clients, each of which asks for two routes each 30 s, over as many",
    "connections as a process may have here, while each broker registers each 30 s; the load was late by so",
    "much at the most, as it had to wait for a core.",
)
COLUMNS = (
    Column("count", "number", "{:,.0f}"),
    Column("seconds", "s", "{:,.1f}"),
    Column("cpu_seconds", "server CPU s", "{:,.2f}"),
    Column("cpu_percent", "% of a core", "{:,.0f}"),
    Column("per_second", "a second", "{:,.0f}"),
    Column("p50_ms", "p50 ms", "{:,.2f}"),
    Column("p99_ms", "p99 ms", "{:,.2f}"),
    Column("longest_ms", "longest ms", "{:,.0f}"),
    Column("registration_p50_ms", "registration p50 ms", "{:,.2f}"),
    Column("registration_p99_ms", "registration p99 ms", "{:,.2f}"),
    Column("late_ms", "load late by, ms", "{:,.0f}"),
    Column("failed", "failed", "{:,.0f}"),
    Column("resident_mb", "resident MB", "{:,.0f}"),
)
Step = Callable[[], dict[str, Any]]


def measure(plan: Plan) -> Iterator[Finding]:
    """Run all steps on our server, then on Apache's."""
    for kind in ("ours", "apache") if plan.apache else ("ours",):
        yield from measure_on(kind, plan)


def measure_on(kind: str, plan: Plan) -> Iterator[Finding]:
    """Run all steps on a server of one kind."""
    brokers, topics = plan.scaled(BROKERS, SPREAD), plan.scaled(TOPICS, SPREAD)
    clients = plan.scaled(CLIENTS, CLIENTS_AT_ONCE)
    port = free_ports()
    server = MAKERS[kind](plan.work / f"names-{kind}", port)
    plan.notify(f"{kind}: starts")
    began = time.monotonic()
    server.start()
    yield Finding("names", kind, "start", {"seconds": time.monotonic() - began, **used_by(server.pid)})
    try:
        with LoadProcess("bench.scale_peers", port, brokers, topics, SPREAD) as load:
            load.do("open_brokers")
            for what, count, step in steps(load, brokers, topics, clients, port):
                plan.notify(f"{kind}: {what}")
                figures = beside([server.pid], step)
                yield Finding("names", kind, what, {"count": figures.pop("open", count), **figures})
    finally:
        server.kill9()


def steps(
    load: LoadProcess, brokers: int, topics: int, clients: int, port: int
) -> Iterator[tuple[str, int, Step]]:
    """Yield the name, the number of items and the function of each step."""

    def register(version: int) -> Step:
        return lambda: load.do("register", version=version, at_once=AT_ONCE)

    pairs = topics * SPREAD // brokers
    yield f"brokers register, {pairs} topics each, {AT_ONCE} at a time", brokers, register(1)
    yield "the same words again", brokers, register(1)
    yield "heartbeats of brokers", brokers, lambda: load.do("heartbeats", at_once=AT_ONCE)
    yield "brokers register with one topic more", brokers, register(2)
    yield "clients connect", clients, lambda: load.do("open_clients", count=clients)
    yield (
        f"routes, each asked for once, {CLIENTS_AT_ONCE} at a time",
        topics,
        lambda: load.do("ask_all", at_once=CLIENTS_AT_ONCE),
    )
    yield "the same routes again", topics, lambda: load.do("ask_all", at_once=CLIENTS_AT_ONCE)
    asked = {"clients": clients, "topics": TOPICS_A_CLIENT, "seconds": POLL_SECONDS}
    yield f"polls of {clients:,} clients", clients, lambda: load.do("poll", **asked)
    yield "all brokers lose their connections", brokers, lambda: all_leave(load, f"{HOST}:{port}")


def all_leave(load: LoadProcess, namesrv: str) -> dict[str, Any]:
    """Close the brokers' connections and wait until the name server lists no broker."""
    load.do("leave")
    end = time.monotonic() + GONE_SECONDS
    while left := len(registered(namesrv)):
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    return {"failed": left}


def model(findings: Sequence[Finding]) -> list[str]:
    """Return a projection to larger sizes, from the steps measured on our server."""
    own = {one.what: one.figures for one in findings if one.server == "ours"}
    known = own.get("the same routes again")
    fresh = next((f for what, f in own.items() if what.startswith("routes, each")), None)
    again = own.get("the same words again")
    changed = own.get("brokers register with one topic more")
    joined, before = own.get("clients connect"), own.get("brokers register with one topic more")
    if not (known and fresh and again and changed and joined and before):
        return []
    micros = {
        name: figures["cpu_seconds"] / figures["count"] * 1e6
        for name, figures in (("known", known), ("fresh", fresh), ("again", again), ("changed", changed))
    }
    kilobytes = (joined["resident_mb"] - before["resident_mb"]) * 1000 / joined["count"]
    lines = [
        f"**More.** A known route costs {micros['known']:.0f} µs of CPU, one that has changed"
        f" {micros['fresh']:.0f} µs, a registration {micros['again']:.0f} µs,",
        f"with changed topics {micros['changed'] / 1000:.1f} ms, a connection {kilobytes:.1f} KB. One",
        "process is busy with one core at most. A model, by these costs:",
        "",
        "| brokers | clients of 2 topics | routes/s | CPU, % of a core | memory of connections, MB |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for brokers, clients in ((2_000, 50_000), (2_000, 200_000), (5_000, 500_000), (10_000, 1_000_000)):
        routes, registrations = clients * TOPICS_A_CLIENT / 30, brokers / 30
        percent = (routes * micros["known"] + registrations * micros["again"]) / 1e4
        connections = (brokers + clients) * kilobytes / 1000
        lines.append(f"| {brokers:,} | {clients:,} | {routes:,.0f} | {percent:.0f} | {connections:,.0f} |")
    return lines


PART = Part("names", "A name server with many brokers and clients", LEAD, COLUMNS, measure, model)
