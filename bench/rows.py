"""The measured work: each row is one load that the official client puts on a server."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from bench.arrangements import Arrangement

CONSUMING = {
    "consume": "fill",
    "consume-pop": "fill",
    "consume-tag": "fill-mixed",
    "consume-sql": "fill-mixed",
}
"""Loads whose amount is a number of messages, and the load that stores these."""

PASSING_SHARE = 4
"""One of this many messages of `fill-mixed` passes the filters; the value in `Sends.java`."""

SCALED_TO = 100
"""Numbers of messages are multiples of this, so that the passing share is whole."""

AT_REST = ("rest", "idle-consumers", "idle-connections")
"""Rows without load, which measure an idle server."""


class Aim(NamedTuple):
    """Target ratios of a row, ours / Apache's: at least `faster`, at most the others; None for no target."""

    faster: float | None = None
    cpu: float | None = None
    p50: float | None = None
    p99: float | None = None
    resident: float | None = 0.2


MEMORY_ONLY = Aim()


@dataclass(frozen=True)
class Row:
    """One kind of work.

    `work` is the load's name in `Load.java`. `amount` is seconds measured after the warm-up; for consuming,
    the number of messages; for an idle server, the seconds of observation with `threads` connections or
    consumers. `broker` holds broker.conf settings for servers of this row. `topics` is the number of topics,
    of `queues` queues each, that these have from the start (sends go to them in turn). `apart` keeps rows on
    separate servers. With `signs` these have access control (ACL 2.0), and the load, `sync` or `async`, signs
    as a normal user. `aim` is for a server in plain Python, `compiled_aim` for a compiled one, None if equal.
    """

    name: str
    work: str
    title: str
    amount: int
    threads: int = 1
    body_bytes: int = 1024
    broker: tuple[tuple[str, str], ...] = ()
    topics: int = 0
    queues: int = 1
    apart: str = ""
    signs: bool = False
    aim: Aim = MEMORY_ONLY
    compiled_aim: Aim | None = None
    arrangement: Arrangement = Arrangement.APART

    @property
    def server(self) -> tuple[object, ...]:
        """Key of the row's servers: rows with equal keys share them."""
        return self.broker, self.topics, self.queues, self.apart, self.signs

    @property
    def is_on_defaults(self) -> bool:
        """True if its servers have default settings and share the cores with the load."""
        is_shared = self.arrangement is not Arrangement.PINNED
        return is_shared and not (self.broker or self.topics or self.signs)

    @property
    def is_at_rest(self) -> bool:
        """True if nothing is sent or consumed."""
        return self.work in AT_REST

    def scaled(self, share: float) -> "Row":
        """Return the row with its amount multiplied by `share`."""
        amount = max(1, round(self.amount * share))
        if self.work in CONSUMING:
            amount = max(SCALED_TO, amount // SCALED_TO * SCALED_TO)
        return replace(self, amount=amount)


SYNC_FLUSH = (("flushDiskType", "SYNC_FLUSH"),)
SQL = (("enablePropertyFilter", "true"),)
FEW_OPS = (("transactionOpBatchInterval", "3600000"),)
"""Apache's broker 5.5.0 keeps a core busy forever once this time has passed after a transaction."""

FLUSHED, OTHERS = Aim(1.2, 0.6), Aim(1.2, 0.7)
LATENCY = Aim(p50=0.8, p99=0.8)
AT_EASE = Aim(cpu=0.5, resident=0.5)
BIG = Aim(resident=None)

ROWS = (
    Row(
        "sync-1",
        "sync",
        "sync send, 1 thread, 1 KB",
        8,
        threads=1,
        aim=Aim(1.3, 0.5),
        compiled_aim=Aim(1.5, 0.3),
    ),
    Row(
        "sync-16",
        "sync",
        "sync send, 16 threads, 1 KB",
        8,
        threads=16,
        aim=Aim(1.5, 0.5),
        compiled_aim=Aim(2.0, 0.3),
    ),
    Row(
        "sync-64",
        "sync",
        "sync send, 64 threads, 1 KB",
        8,
        threads=64,
        aim=Aim(1.4, 0.5),
        compiled_aim=Aim(2.5, 0.3),
    ),
    Row("async", "async", "async send, 1 KB", 8, aim=Aim(1.6, 0.5), compiled_aim=Aim(2.5, 0.3)),
    Row("sync-64-signed", "sync", "sync send, 64 threads, 1 KB, ACL 2.0", 8, threads=64, signs=True),
    Row("async-signed", "async", "async send, 1 KB, ACL 2.0", 8, signs=True),
    Row(
        "batch-32",
        "batch",
        "batches of 32 x 128 B, 8 threads",
        8,
        threads=8,
        body_bytes=128,
        aim=Aim(1.2),
        compiled_aim=Aim(2.0, 0.5),
    ),
    Row(
        "consume",
        "consume",
        "consume from the start, 1 KB, push",
        400_000,
        threads=20,
        aim=Aim(1.3),
        compiled_aim=Aim(1.5, 0.4),
    ),
    Row(
        "pop",
        "consume-pop",
        "consume from the start, 1 KB, POP",
        60_000,
        threads=20,
        aim=Aim(1.2),
        compiled_aim=Aim(1.5),
    ),
    Row(
        "tag",
        "consume-tag",
        "consume a quarter by tag, 1 KB",
        180_000,
        threads=20,
        aim=Aim(1.2),
        compiled_aim=Aim(1.5),
    ),
    Row(
        "sql",
        "consume-sql",
        "consume a quarter by SQL92, 1 KB",
        180_000,
        threads=20,
        broker=SQL,
        aim=Aim(1.2),
        compiled_aim=Aim(1.5, 0.5),
    ),
    Row("latency", "latency", "send 1,000/s and consume at once", 8, threads=1, aim=LATENCY),
    Row("latency-5000", "latency", "send 5,000/s and consume at once", 8, threads=5, aim=LATENCY),
    *(
        Row(
            f"fan-out-{groups}",
            "fan-out",
            f"send 200/s to {groups} push group{'s' if groups > 1 else ''} at once, 1 KB",
            8,
            threads=groups,
        )
        for groups in (1, 10, 50)
    ),
    Row(
        "delay",
        "delay",
        "delay level 1, 16 threads, sent and received, 1 KB",
        6,
        threads=16,
        aim=OTHERS._replace(p99=1.5),
        compiled_aim=OTHERS._replace(p99=1.0),
    ),
    Row(
        "transactions",
        "transactions",
        "transactions, 16 threads, committed, 1 KB",
        8,
        threads=16,
        apart="transactions",
        aim=OTHERS,
    ),
    Row(
        "transactions-few-ops",
        "transactions",
        "the same, transactionOpBatchInterval 1 h",
        8,
        threads=16,
        broker=FEW_OPS,
        aim=OTHERS,
    ),
    Row("official-send", "official-send", "official benchmark producer, 64 threads, 1 KB", 8, threads=64),
    Row("official-both", "official-both", "official producer and consumer, 20 threads, 1 KB", 8, threads=20),
    *(
        Row(
            f"flush-{threads}",
            "sync",
            f"SYNC_FLUSH send, {threads} thread{'s' if threads > 1 else ''}, 1 KB",
            8,
            threads=threads,
            broker=SYNC_FLUSH,
            aim=FLUSHED if threads > 1 else FLUSHED._replace(faster=1.1),
            compiled_aim=FLUSHED,
        )
        for threads in (1, 16, 64)
    ),
    *(
        Row(
            f"topics-{topics}",
            "sync",
            f"sync send to {topics:,} topics in turn, 64 threads, 1 KB",
            8,
            threads=64,
            topics=topics,
            aim=BIG,
        )
        for topics in (64, 256, 10_000)
    ),
    Row("rest", "rest", "nothing to do", 20, threads=0, apart="rest", aim=Aim(cpu=0.03)),
    Row(
        "consumers-500",
        "idle-consumers",
        "500 consumers that wait, 4 queues each",
        30,
        threads=500,
        apart="rest",
        aim=AT_EASE,
    ),
    Row(
        "connections-10000",
        "idle-connections",
        "10,000 connections, a heartbeat each 30 s",
        30,
        threads=10_000,
        apart="rest",
        aim=AT_EASE,
    ),
)

FALLS: tuple[tuple[str, str, float | None], ...] = (
    ("topics-64", "topics-256", 0.05),
    ("topics-64", "topics-10000", 0.15),
    ("sync-64", "sync-64-signed", None),
    ("async", "async-signed", None),
)
"""Pairs of rows and the share by which throughput may fall from one to the other, None for Apache's fall."""


def choose(names: tuple[str, ...]) -> tuple[Row, ...]:
    """Return the rows of these names, or all, in the table's order. Raises `KeyError` for an unknown name."""
    known = {row.name for row in ROWS}
    for name in names:
        if name not in known:
            raise KeyError(f"no row {name!r}; there are {', '.join(sorted(known))}")
    return tuple(row for row in ROWS if not names or row.name in names)
