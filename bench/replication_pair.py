"""A master and its slave of one kind, observed from outside: lag and CPU time.

A thread polls the master (request 907) for its log's end and the slave's acknowledged offset, and samples
the CPU time of both. Lag in bytes is the difference. Lag in time is the time since the master's log ended
where the slave's ends now.
"""

from __future__ import annotations

import bisect
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from compat_tests.support.background import Background
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, Part, apache_broker, apache_namesrv, our_broker, our_namesrv
from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.codes import RequestCode

SAMPLE_SECONDS = 0.05
FOLLOW_SECONDS = 60
TABLES_SECONDS = 120
"""Apache's slave copies its master's tables after a minute."""


class Sample(NamedTuple):
    """One sample of a pair; CPU in seconds since the processes started."""

    at: float
    log_end: int
    acknowledged: int
    master_cpu: float
    slave_cpu: float


@dataclass(frozen=True)
class Lag:
    """Lag and CPU time, in seconds, of a window of samples."""

    median_ms: float
    p99_ms: float
    most_kb: float
    master_cpu: float
    slave_cpu: float


class Watch(Background):
    """A thread that samples a pair."""

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._pair = pair
        self._samples: list[Sample] = []

    def _run(self) -> None:
        pair = self._pair
        with RawConnection(pair.master_address) as connection:
            while not self._is_over(SAMPLE_SECONDS):
                end, acknowledged = places(connection)
                used = cpu_of(pair.master), cpu_of(pair.slave)
                self._samples.append(Sample(time.monotonic(), end, acknowledged, *used))

    def between(self, begin: float, end: float) -> list[Sample]:
        """Return the samples from `begin` to `end`, in monotonic seconds."""
        return [sample for sample in self._samples if begin <= sample.at <= end]

    def lag(self, begin: float, end: float) -> Lag:
        """Return the lag and the CPU time of a window, which must hold more than a few samples."""
        window = self.between(begin, end)
        lags = sorted(lag_seconds(self._samples, sample) * 1000 for sample in window)
        return Lag(
            statistics.median(lags),
            lags[int(0.99 * (len(lags) - 1))],
            max(sample.log_end - sample.acknowledged for sample in window) / 1000,
            window[-1].master_cpu - window[0].master_cpu,
            window[-1].slave_cpu - window[0].slave_cpu,
        )


def cpu_of(part: Part) -> float:
    """Return the CPU seconds that a process has used; 0 if it is not running."""
    try:
        times = psutil.Process(part.pid).cpu_times()
    except (AssertionError, psutil.NoSuchProcess):
        return 0.0
    return float(times.user + times.system)


def lag_seconds(samples: Sequence[Sample], seen: Sample) -> float:
    """Return the seconds from when the master's log ended where the slave's ends to this sample."""
    if seen.acknowledged >= seen.log_end:
        return 0.0
    index = bisect.bisect_left(samples, seen.acknowledged, key=lambda sample: sample.log_end)
    if index == 0:
        return seen.at - samples[0].at
    before, after = samples[index - 1], samples[index]
    part = (seen.acknowledged - before.log_end) / (after.log_end - before.log_end)
    return seen.at - (before.at + part * (after.at - before.at))


def places(connection: RawConnection) -> tuple[int, int]:
    """Return the end of the master's log and the slave's acknowledged offset, 0 without a slave.

    Raises `RuntimeError` if the master does not report them.
    """
    answer = connection.ask(RequestCode.GET_BROKER_HA_STATUS)
    if answer is None or answer.code != 0:
        raise RuntimeError(f"the master does not say how its slave is: {answer}")
    status = loads(answer.body)
    slaves = [max(0, slave["slaveAckOffset"]) for slave in status["haConnectionInfo"]]
    return status["masterCommitLogMaxOffset"], max(slaves, default=0)


class Pair:
    """A name server, a master and its slave of one kind, each a process.

    `others` names further masters. All brokers have production heap and file sizes.
    """

    def __init__(
        self, kind: str, folder: Path, settings: Mapping[str, str], others: Sequence[str] = ()
    ) -> None:
        self.kind = kind
        self.folder = folder
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self._namesrv = (our_namesrv if kind == "ours" else apache_namesrv)(folder / "namesrv", port)
        shared = {"slaveReadEnable": "true", "registerNameServerPeriod": "10000"}
        self._others = [self._broker(name, {**shared, "brokerName": name})[0] for name in others]
        self.master, self.master_address = self._broker("master", {**shared, **settings})
        role = {"brokerRole": "SLAVE", "brokerId": "1"}
        self.slave, self.slave_address = self._broker("slave", {**shared, **settings, **role})

    def _broker(self, name: str, settings: Mapping[str, str]) -> tuple[Part, str]:
        port = free_ports((-2, 0, 1))
        folder = self.folder / name
        if self.kind == "ours":
            return our_broker(folder, port, self.namesrv_address, settings), f"{HOST}:{port}"
        part = apache_broker(folder, port, self.namesrv_address, settings, production=True)
        return part, f"{HOST}:{port}"

    @property
    def pids(self) -> list[int]:
        """Return the processes, with master and slave last."""
        return [part.pid for part in (self._namesrv, *self._others, self.master, self.slave)]

    def start(self, *, with_slave: bool = True) -> Pair:
        """Start all, the slave unless `with_slave` is false; return when the slave has caught up."""
        try:
            for part in (self._namesrv, *self._others, self.master):
                part.start()
            if with_slave:
                self.slave.start()
                self.wait_until_followed()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill all processes: the stores are no longer needed."""
        for part in (self.slave, self.master, *self._others, self._namesrv):
            part.kill9()

    def is_followed(self) -> bool:
        """Return True if one slave is connected and has acknowledged everything."""
        with RawConnection(self.master_address) as connection:
            answer = connection.ask(RequestCode.GET_BROKER_HA_STATUS)
            assert answer is not None
            status = loads(answer.body)
        end = status["masterCommitLogMaxOffset"]
        return [max(0, slave["slaveAckOffset"]) for slave in status["haConnectionInfo"]] == [end]

    def wait_until_followed(self, seconds: float = FOLLOW_SECONDS) -> None:
        """Wait until the slave has acknowledged everything."""
        wait_until(self.is_followed, seconds, f"the {self.kind} slave follows", 0.02)

    def wait_for_tables(self, topic: str) -> None:
        """Wait until the slave has persisted this topic."""
        path = self.folder / "slave" / "store" / "config" / "topics.json"
        wait_until(
            lambda: path.exists() and f'"{topic}"' in path.read_text(),
            TABLES_SECONDS,
            f"the {self.kind} slave knows the topic",
        )

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()
