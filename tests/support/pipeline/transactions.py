"""Tasks and drivers of transactional batches, with a cluster and a folder in memory."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.pipeline.halves import HalfSender
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.transactions import Transactions
from mqgateway.pipeline.verdicts import Places, Transaction, Verdict, Verdicts
from tests.support.gateway.client.cluster import NAMESRV, Cluster
from tests.support.pipeline.memory_folder import MemoryFolder

QUICK = {"num_retries": 0, "retry_interval_ms": 1, "unreachable_timeout_ms": 0, "send_timeout_ms": 500}


class World:
    """One query: its cluster and its verdicts."""

    def __init__(self, cluster: Cluster, **chosen: Any) -> None:
        self.cluster = cluster
        self.folder = MemoryFolder()
        self.verdicts = Verdicts(self.folder)
        self.options = SinkOptions(
            name_server=NAMESRV, transactional=True, **{"topic": "T", **QUICK, **chosen}
        )

    def task(self, batch: int = 0, last: Verdict | None = None) -> HalfSender:
        """Return a task of a batch."""
        return HalfSender(self.options, TlsOptions(), Transaction("q", batch), last)

    def sent(self, bodies: list[str], batch: int = 0, **fields: Any) -> tuple[Places, ...]:
        """Send these bodies as a task does, and return the positions that it reports to the driver."""
        task = self.task(batch)
        task.send({"body": body, **fields} for body in bodies)
        assert task.finish() == len(bodies)
        task.close()
        return task.places()

    def driver(self) -> Transactions:
        """Return a new driver, as after a restart."""
        return Transactions(self.options, TlsOptions(), self.verdicts, "q")

    def visible(self) -> list[str]:
        """Return the bodies that consumers see."""
        return sorted(body.decode() for body in self.cluster.everything("T"))

    @property
    def open_halves(self) -> int:
        """Number of half messages without an outcome."""
        return self.cluster.service.broker.transactions.counts.count("T")


def ends(seen: list[Any]) -> int:
    """Return the number of these requests that end half messages."""
    return sum(one.code == RequestCode.END_TRANSACTION for one in seen)
