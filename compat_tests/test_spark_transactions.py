"""Transactional batches of the Spark sink, without Spark, on servers of both kinds.

Half messages are checked, ended late, and perhaps ended before. No row is seen twice, and none too many.
"""

from __future__ import annotations

import time

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.peers import IMPATIENT, Peers
from compat_tests.support.processes import wait_until
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client import PullConsumer
from mqgateway.pipeline.halves import HalfSender
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.transactions import Transactions
from mqgateway.pipeline.verdicts import Places, Transaction, Verdict, Verdicts
from tests.support.pipeline.memory_folder import MemoryFolder

SETTINGS = {**IMPATIENT, "transactionCheckMax": "15"}
ROUNDS_SECONDS = 7
"""Longer than three rounds of checks."""
ROWS = [f"{number:02}" for number in range(20)]


class Query:
    """A query with one topic, and its verdicts."""

    def __init__(self, namesrv: str, topic: str) -> None:
        self.name = f"query-{time.time_ns()}"
        self.topic = topic
        self.namesrv = namesrv
        self.options = SinkOptions(
            name_server=namesrv, topic=topic, transactional=True, producer_group=f"G{time.time_ns()}"
        )
        self.folder = MemoryFolder()
        self.verdicts = Verdicts(self.folder)

    def transaction(self, batch: int) -> Transaction:
        """Return the transaction of a batch."""
        return Transaction(self.name, batch)

    def task(self, batch: int, last: Verdict | None = None) -> HalfSender:
        """Return a task of a batch."""
        return HalfSender(self.options, TlsOptions(), self.transaction(batch), last)

    def sent(self, batch: int, bodies: list[str]) -> tuple[Places, ...]:
        """Send rows by a task; return the places that it reports to the driver."""
        task = self.task(batch)
        try:
            task.send({"body": body} for body in bodies)
            assert task.finish() == len(bodies)
            return task.places()
        finally:
            task.close()

    def commit(self, batch: int, places: tuple[Places, ...]) -> None:
        """Commit a batch as the driver does."""
        with Transactions(self.options, TlsOptions(), self.verdicts, self.name) as driver:
            driver.commit(self.transaction(batch), places)

    def seen(self) -> list[str]:
        """Return the bodies of all visible messages."""
        found = []
        with PullConsumer("lookers", self.namesrv) as consumer:
            for queue in consumer.queues(self.topic):
                at = consumer.min_offset(queue)
                while at < consumer.max_offset(queue):
                    pulled = consumer.pull(queue, at)
                    found += [message.body.decode() for message in pulled.messages]
                    at = pulled.next_offset
        return sorted(found)

    def sees(self, bodies: list[str]) -> None:
        """Wait until these bodies are visible."""
        wait_until(lambda: len(self.seen()) >= len(bodies), 20, f"{len(bodies)} rows are seen", 0.2)
        assert self.seen() == sorted(bodies)


def query_of(peers: Peers, kind: str) -> Query:
    """Return a new query at a server of a kind."""
    server = peers.tuned(kind, SETTINGS)
    return Query(server.namesrv_address, peers.with_server(server, CURRENT).topic("spark_halves"))


@pytest.mark.overlap
def test_a_batch_that_is_repeated_at_each_point(kind: str, peers: Peers) -> None:
    """A batch is committed; repeated with the commit noted; not noted; and with half of it ended."""
    query = query_of(peers, kind)
    first = query.sent(0, ROWS)
    query.commit(0, first)
    query.sees(ROWS)
    query.commit(0, query.sent(0, ROWS))
    [done] = query.folder.names()
    verdict = Verdict(query.transaction(0), query.options.producer_group, 1, first)
    query.folder.delete(done)
    query.verdicts.write(verdict)
    query.commit(0, query.sent(0, ROWS))
    query.sees(ROWS)
    more = query.sent(1, ["a", "b"])
    query.verdicts.write(Verdict(query.transaction(1), query.options.producer_group, 2, more))
    query.commit(1, query.sent(1, ["a", "b"]))
    query.sees([*ROWS, "a", "b"])
    assert [name.rpartition(".")[2] for name in query.folder.names()] == ["done", "done"]


@pytest.mark.overlap
def test_checked_batch_is_committed_once_and_leftovers_are_dropped(kind: str, peers: Peers) -> None:
    """A member of the group is checked all the time: first it knows no verdict, then that of the batch."""
    query = query_of(peers, kind)
    query.sent(0, ["left over"])
    places = query.sent(0, ROWS)
    ignorant = query.task(1)
    time.sleep(ROUNDS_SECONDS)
    query.commit(0, places)
    ignorant.close()
    query.sees(ROWS)
    informed = query.task(1, query.verdicts.newest_done())
    time.sleep(ROUNDS_SECONDS)
    informed.close()
    query.sees(ROWS)


@pytest.mark.overlap
def test_a_batch_that_fails_is_rolled_back(kind: str, peers: Peers) -> None:
    query = query_of(peers, kind)
    places = query.sent(0, ROWS)
    with Transactions(query.options, TlsOptions(), query.verdicts, query.name) as driver:
        driver.abort(query.transaction(0), places)
    task = query.task(0)
    task.send([{"body": "from a task that fails"}])
    task.finish()
    task.take_back()
    task.close()
    query.commit(0, query.sent(0, ["other"]))
    query.sees(["other"])
