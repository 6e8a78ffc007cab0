"""`python -m bench succession`: time without a master, and losses, in sets under a controller, ours beside
Apache's.

A set has a controller, a name server and two brokers of one kind, `allAckInSyncStateSet=true`, otherwise
defaults. Both kinds take turns, each on new sets. The parts:

- `kill`, `freeze`: the master is killed with `kill -9`, or stopped with SIGSTOP, while a Java producer and a
  push consumer work. Measured is the time until the name server has another master, until a send is
  acknowledged, and until a message is read again.
- `lost`: a frozen master wakes up while clients send to it and to its successor. Counted are acknowledged
  messages that are in no log afterwards; measured is how long the name server had no master then.
- `restart`: a controller restarts after many changes. Counted are the sets that it still has.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import click

from bench.frame import Invocation, benchmark
from bench.measure import machine, measured_on
from bench.replication_runs import answer, client, conversation, write_line
from bench.succession_runs import Columns, Figures, OtherMachine, Runs
from compat_tests.support.background import Background
from compat_tests.support.controlled import (
    CLUSTER,
    SET,
    TOPIC,
    ControlledGroup,
    Member,
)
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from mqgateway.gateway.codec.codes import RequestCode

CONTROLLER = {"apache": "apache", "ours": "file"}
PARTS = ("kill", "freeze", "lost", "restart")
OFTEN = ("kill", "freeze")
SELDOM = 3
"""Runs of the other parts at most: their results hardly vary."""
THREADS = 4
SEND_TIMEOUT_MILLIS = 1000
ROUTE_MILLIS = 500
"""A stock client polls routes each 30 s, and would see the next master that late on either side."""
WATCH_SECONDS = {"kill": 15, "freeze": 50}
"""The stock push consumer waits up to 30 s for the answer to a pull, which cannot be configured."""
FROZEN_SECONDS = 25
AWAKE_SECONDS = 15
SENDERS = 8
CHANGES = 2300
SMALL_FILES = {"mappedFileSize": "65536"}
"""Setting of Apache's controller: by default its log starts a second file after millions of changes."""

SUCCESSION: Columns = (
    ("route_ms", "another master in the route, ms"),
    ("send_ms", "sends again, ms"),
    ("read_ms", "reads again, ms"),
)
COLUMNS: dict[str, Columns] = {
    "kill": SUCCESSION,
    "freeze": SUCCESSION,
    "lost": (
        ("acknowledged", "acknowledged by the one that woke up"),
        ("lost", "of all acknowledged lost"),
        ("hole_ms", "route without a master, ms"),
    ),
    "restart": (("before", "sets before"), ("after", "sets after"), ("seconds", "answers again, s")),
}


class RouteWatch(Background):
    """A thread that polls the name server for the master."""

    def __init__(self, group: ControlledGroup) -> None:
        super().__init__()
        self._group = group
        self.seen: list[tuple[float, str | None]] = []

    def _run(self) -> None:
        while not self._is_over(0.01):
            self.seen.append((time.time(), self._group.routed()))

    def first(self, after: float, unlike: str) -> float:
        """Return the time, after `after`, of the first master other than `unlike`."""
        return next(at for at, who in self.seen if at > after and who not in (None, unlike))

    def longest_hole(self, after: float) -> float:
        """Return the longest time without any master after `after`, in seconds."""
        return longest_without([at for at, who in self.seen if at > after and who is not None])


def longest_without(times: Sequence[float]) -> float:
    """Return the longest interval between two consecutive times; 0 without one."""
    return max((second - first for first, second in pairwise(times)), default=0.0)


def again_after(times: Sequence[float], moment: float) -> float:
    """Return the seconds from `moment` to the end of the longest gap around it.

    The first time after `moment` is not enough: answers may be in flight. Raises `RuntimeError` if the
    gap has not ended.
    """
    found = sorted(at for at in times if at > moment - 1)
    gaps = [(second - first, second) for first, second in pairwise(found) if second > moment]
    if not gaps:
        raise RuntimeError("nothing came again")
    return max(gaps)[1] - moment


def succession(kind: str, folder: Path, *, freeze: bool) -> Figures:
    """Kill or freeze the master under the load of stock clients. Raises `RuntimeError` if they do not
    recover."""
    with ControlledGroup(folder, CONTROLLER[kind], (kind, kind), {}, namesrv=kind) as group:
        master = group.members[0]
        command = [*client("bench.Succession"), group.namesrv_address, TOPIC, str(THREADS)]
        command += [str(SEND_TIMEOUT_MILLIS), str(ROUTE_MILLIS)]
        with conversation(command) as process, RouteWatch(group) as watch:
            answer(process, "flowing")
            time.sleep(2)
            moment = time.time()
            (master.freeze if freeze else master.kill)()
            time.sleep(WATCH_SECONDS["freeze" if freeze else "kill"])
            write_line(process, "end")
            result = answer(process, "acks")
        acks, reads = ([at / 1000 for at in result[name]] for name in ("acks", "reads"))
        return {
            "route_ms": (watch.first(moment, master.address) - moment) * 1000,
            "send_ms": again_after(acks, moment) * 1000,
            "read_ms": again_after(reads, moment) * 1000,
        }


def lost(kind: str, folder: Path) -> Figures:
    """Freeze a master and wake it up while clients that know it send to it."""
    settings = {"inSyncReplicas": "2"}
    with ControlledGroup(folder, CONTROLLER[kind], (kind, kind), settings, namesrv=kind) as group:
        master, successor = group.members
        for _ in range(20):
            group.send(master.address)
        with ExitStack() as stack, RouteWatch(group) as watch:
            senders = [Stubborn(group, master) for _ in range(SENDERS)]
            master.freeze()
            try:
                wait_until(lambda: group.routed() == successor.address, 60, "another one is master")
                for one in senders:
                    stack.enter_context(one)
                time.sleep(FROZEN_SECONDS)
                for _ in range(20):
                    group.send(successor.address)
            finally:
                awake = time.time()
                master.thaw()
            time.sleep(AWAKE_SECONDS)
        group.wait_until_whole()
        wait_until(lambda: len({one.end() for one in group.members}) == 1, 60, "logs end in one place")
        gone = group.lost(successor.log(successor.end()))
        taken = sum(one.acknowledged for one in senders)
        return {
            "acknowledged": taken,
            "lost": len(gone),
            "hole_ms": watch.longest_hole(awake - 1) * 1000,
        }


class Stubborn(Background):
    """Sends to one broker, master or not, on a connection made before the broker was frozen."""

    def __init__(self, group: ControlledGroup, broker: Member) -> None:
        super().__init__()
        self._group = group
        self._address = broker.address
        self._connection = RawConnection(broker.address)
        self.acknowledged = 0

    def _run(self) -> None:
        while not self._is_over(0.02):
            try:
                code = self._group.send_on(self._connection, self._address, FROZEN_SECONDS * 2)
            except OSError:
                return
            self.acknowledged += code == 0


def restart(kind: str, folder: Path) -> Figures:
    """Restart a controller after `CHANGES` changes of sets."""
    small = SMALL_FILES if kind == "apache" else {}
    controller, group = CONTROLLER[kind], ControlledGroup
    with group(folder, controller, (), {}, namesrv=kind, controller_settings=small) as found:
        (only,) = found.controllers
        names = [f"s{number}" for number in range(CHANGES)]
        with RawConnection(only.address) as connection:
            for name in names:
                fields = {"clusterName": CLUSTER, "brokerName": name, "appliedBrokerId": "1"}
                fields |= {"registerCheckCode": f"10.0.0.1:{SET};1"}
                said = connection.ask(RequestCode.CONTROLLER_APPLY_BROKER_ID, fields)
                assert said is not None and said.code == 0, said
        before = known(only.address, names)
        only.part.kill9()
        began = time.monotonic()
        try:
            only.part.start()
            wait_until(lambda: found.leader() is not None, 60, "the controller leads again")
            after = known(only.address, names)
        except (RuntimeError, TimeoutError, OSError):
            after = 0
        return {"before": before, "after": after, "seconds": time.monotonic() - began}


def known(address: str, names: Sequence[str]) -> int:
    """Return the number of these sets that a controller has."""
    count = 0
    with RawConnection(address) as connection:
        for name in names:
            fields = {"clusterName": CLUSTER, "brokerName": name}
            said = connection.ask(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, fields)
            assert said is not None and said.code == 0, said
            count += said.ext_fields["nextBrokerId"] == "2"
    return count


WORKS: dict[str, Callable[[str, Path], Figures]] = {
    "kill": lambda kind, folder: succession(kind, folder, freeze=False),
    "freeze": lambda kind, folder: succession(kind, folder, freeze=True),
    "lost": lost,
    "restart": restart,
}


def section(runs: Runs, parts: Sequence[str]) -> list[str]:
    """Return the section of the page: method and table."""
    return [
        "## Another master",
        "",
        measured_on(),
        "A controller, a name server and two brokers of one kind, `allAckInSyncStateSet=true`, else with",
        "their defaults, all on these cores together with the load; both took turns, on new stores.",
        "Figures are medians, with the 99th percentile (of fewer than 100 runs the greatest) and the number",
        f"of runs. The stock Java clients look for routes each {ROUTE_MILLIS} ms, not 30 s, and wait",
        f"{SEND_TIMEOUT_MILLIS} ms for a send, not 3 s; the push consumer gives a pull 30 s, unless it",
        "closes the connection because of another request. `python -m bench succession` repeats it.",
        "",
        "| part | figure | ours | Apache's |",
        "| --- | --- | ---: | ---: |",
        *(row for part in parts for row in runs.rows(part, COLUMNS[part])),
    ]


def run_once(part: str, kind: str) -> Figures | str:
    """Return the figures of a run on new stores, or the reason of its failure."""
    with tempfile.TemporaryDirectory(prefix=f"succession-{kind}-") as folder:
        try:
            return WORKS[part](kind, Path(folder))
        except (AssertionError, RuntimeError, OSError, StopIteration, subprocess.SubprocessError) as failure:
            return f"{type(failure).__name__}: {failure}"


@benchmark(
    "succession --row kill --pairs 1",
    rows=PARTS,
    pairs=10,
    json_help="Keep all runs here; those that are there already count, and are not made again.",
)
@click.option("--seconds", type=float, help="Begin no run after so many seconds.")
def main(given: Invocation, seconds: float | None) -> None:
    """Measure the time to the next master, and losses, in sets under a controller, ours beside Apache's."""
    parts = [part for part in PARTS if given.selects(part)]
    try:
        runs = Runs(PARTS, given.json_path, machine())
    except OtherMachine as error:
        raise click.ClickException(str(error)) from None
    began = time.monotonic()
    for part in parts:
        most = given.pairs if part in OFTEN else min(given.pairs, SELDOM)
        while (kind := runs.next(part, most)) is not None:
            if seconds is not None and time.monotonic() - began > seconds:
                given.console.print(f"time is up: {part} and what follows lack runs")
                break
            at = time.monotonic()
            result = run_once(part, kind)
            runs.take(part, kind, result)
            done = len(runs.results[part][kind]) + len(runs.failed[part][kind])
            said = f"{part} {done}/{most} {kind:7} ({time.monotonic() - at:.0f} s)"
            if isinstance(result, str):
                given.console.print(f"{said} FAILED: {result}", markup=False)
            else:
                summary = "  ".join(f"{title} {result[name]:,.0f}" for name, title in COLUMNS[part])
                given.console.print(f"{said} {summary}")
    shown = [part for part in parts if any(runs.results[part].values()) or any(runs.failed[part].values())]
    given.write("succession", section(runs, shown))
