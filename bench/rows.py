"""What is measured: each row is one load that the official client puts on a server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One kind of work.

    `work` is the load's name in `Load.java`; `amount` is seconds measured after the warm-up, or for
    consuming the number of messages. `broker` holds broker.conf settings for servers of this row.
    """

    name: str
    work: str
    title: str
    amount: int
    threads: int = 1
    body_bytes: int = 1024
    broker: tuple[tuple[str, str], ...] = ()

    @property
    def server(self) -> str:
        """Rows with the same settings share their servers."""
        return " ".join(f"{key}={value}" for key, value in self.broker) or "defaults"


SYNC_FLUSH = (("flushDiskType", "SYNC_FLUSH"),)

ROWS = (
    Row("sync-1", "sync", "sync send, 1 thread, 1 KB", 8, threads=1),
    Row("sync-16", "sync", "sync send, 16 threads, 1 KB", 8, threads=16),
    Row("sync-64", "sync", "sync send, 64 threads, 1 KB", 8, threads=64),
    Row("async", "async", "async send, 1 KB", 8),
    Row("batch-32", "batch", "batches of 32 x 128 B, 8 threads", 8, threads=8, body_bytes=128),
    Row("consume", "consume", "consume from the start, 1 KB, push", 400_000, threads=20),
    Row("latency", "latency", "send 1,000/s and consume at once", 8, threads=1),
    Row("official-send", "official-send", "official benchmark producer, 64 threads, 1 KB", 8, threads=64),
    Row("official-both", "official-both", "official producer and consumer, 20 threads, 1 KB", 8, threads=20),
    Row("flush-16", "sync", "SYNC_FLUSH send, 16 threads, 1 KB", 8, threads=16, broker=SYNC_FLUSH),
)


def choose(names: tuple[str, ...]) -> tuple[Row, ...]:
    """The rows of the given names, in the table's order. Raises `KeyError` naming an unknown one."""
    known = {row.name for row in ROWS}
    for name in names:
        if name not in known:
            raise KeyError(f"no row {name!r}; there are {', '.join(sorted(known))}")
    return tuple(row for row in ROWS if not names or row.name in names)
