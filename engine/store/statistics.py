"""Counters of the store, as the admin tools print them. RocketMQ: `StoreStatsService`."""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Final, NamedTuple

from mqgateway.engine.disk import Disk

_BOUNDS: Final = (0, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_NAMES: Final = (
    "[<=0ms]",
    "[0~10ms]",
    "[10~50ms]",
    "[50~100ms]",
    "[100~200ms]",
    "[200~500ms]",
    "[500ms~1s]",
    "[1~2s]",
    "[2~3s]",
    "[3~4s]",
    "[4~5s]",
    "[5~10s]",
    "[10s~]",
)
_WINDOWS: Final = (10, 60, 600)
_SAMPLES: Final = 601
_LATENCIES: Final = 2048


class _Sample(NamedTuple):
    time: int
    put: int
    found: int
    missed: int
    transferred: int


class Statistics:
    """Totals since start.

    `started` is wall time in ms; `elapsed` and all later times are of the monotonic clock. Durations are
    passed in seconds and reported in milliseconds.
    """

    def __init__(self, started: int, elapsed: int) -> None:
        self.started = started
        self._began = elapsed
        self.put_times = 0
        self.put_failed = 0
        self.put_bytes = 0
        self.put_longest = 0.0
        self.get_found = 0
        self.get_missed = 0
        self.get_transferred = 0
        self.get_longest = 0.0
        self.dispatch_longest = 0
        self._spread = [0] * len(_NAMES)
        self._last_spread: list[int] | None = None
        self._latencies: deque[float] = deque(maxlen=_LATENCIES)
        self._samples: deque[_Sample] = deque([_Sample(elapsed, 0, 0, 0, 0)], maxlen=_SAMPLES)
        self._minute = elapsed

    def put(self, count: int, size: int, seconds: float) -> None:
        """Count messages put together, with `size` bytes of records."""
        self.put_times += count
        self.put_bytes += size
        self._latencies.append(seconds)
        if seconds > self.put_longest:
            self.put_longest = seconds
        if seconds < 0.001:
            self._spread[0] += 1
            return
        millis = int(seconds * 1000)
        place = next((i for i, bound in enumerate(_BOUNDS) if i and millis < bound), len(_BOUNDS))
        self._spread[place] += 1

    def get(self, count: int, seconds: float) -> None:
        """Count records read together; 0: there were none."""
        if count:
            self.get_found += 1
            self.get_transferred += count
        else:
            self.get_missed += 1
        if seconds > self.get_longest:
            self.get_longest = seconds

    def sample(self, now: int) -> None:
        """Sample the totals; called about once a second."""
        self._samples.append(
            _Sample(now, self.put_times, self.get_found, self.get_missed, self.get_transferred)
        )
        if now - self._minute >= 60_000:
            self._minute = now
            self._last_spread, self._spread = self._spread, [0] * len(_NAMES)

    def _rates(self, *fields: str) -> str:
        """Return calls per second over 10 seconds, a minute and 10 minutes, at most since start."""
        rates = []
        last = self._samples[-1]
        for window in _WINDOWS:
            first = self._samples[max(0, len(self._samples) - 1 - window)]
            calls = sum(getattr(last, field) - getattr(first, field) for field in fields)
            rates.append(calls * 1000 / (last.time - first.time) if last.time > first.time else 0.0)
        return " ".join(map(str, rates))

    def _share(self, part: float) -> str:
        """Return a percentile of the recent put times, in ms; `part` is from 0 to 1."""
        times = sorted(self._latencies)
        value = times[min(len(times) - 1, int(len(times) * part))] * 1000 if times else 0.0
        return f"{value:.2f}"

    def runtime_info(self, now: int) -> dict[str, str]:
        """Return the keys of RocketMQ's `StoreStatsService.getRuntimeInfo`."""
        seconds = (now - self._began) // 1000
        days, hours, minutes = seconds // 86400, seconds % 86400 // 3600, seconds % 3600 // 60
        spread = self._last_spread or self._spread
        return {
            "bootTimestamp": str(self.started),
            "runtime": f"[ {days} days, {hours} hours, {minutes} minutes, {seconds % 60} seconds ]",
            "putMessageEntireTimeMax": str(int(self.put_longest * 1000)),
            "putMessageTimesTotal": str(self.put_times),
            "putMessageFailedTimes": str(self.put_failed),
            "putMessageSizeTotal": str(self.put_bytes),
            "putMessageDistributeTime": "".join(
                f"{name}:{count} " for name, count in zip(_NAMES, spread, strict=True)
            ),
            "putMessageAverageSize": str(self.put_bytes / max(1, self.put_times)),
            "dispatchMaxBuffer": str(self.dispatch_longest),
            "getMessageEntireTimeMax": str(int(self.get_longest * 1000)),
            "putTps": self._rates("put"),
            "getFoundTps": self._rates("found"),
            "getMissTps": self._rates("missed"),
            "getTotalTps": self._rates("found", "missed"),
            "getTransferredTps": self._rates("transferred"),
            "putLatency99": self._share(0.99),
            "putLatency999": self._share(0.999),
        }


def disk_figures(disk: Disk, root: str, log_directory: str, queue_directory: str) -> dict[str, str]:
    """Return the usage of the disks of log and consume queues, by RocketMQ's keys.

    Ratios refer to the usable space, capacities to the whole file system of the store's root. RocketMQ:
    `DefaultMessageStore.getRuntimeInfo`, `AdminBrokerProcessor.prepareRuntimeInfo`.
    """

    def ratio(total: int, free: int) -> str:
        return str(ceil((total - free) * 100 / total) / 100 if total else 0.0)

    total, free = disk.usage(log_directory)
    size, unused = disk.capacity(root)
    return {
        "commitLogDiskRatio": ratio(total, free),
        f"commitLogDiskRatio_{log_directory}": ratio(total, free),
        "consumeQueueDiskRatio": ratio(*disk.usage(queue_directory)),
        "commitLogDirCapacity": f"Total : {in_words(size)}, Free : {in_words(unused)}.",
    }


def in_words(count: int) -> str:
    """Return a number of bytes in RocketMQ's notation. RocketMQ: `MixAll.humanReadableByteCount`."""
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 6)
    return f"{count / (1 << 10 * power):.1f} {'KMGTPE'[power - 1]}iB"
