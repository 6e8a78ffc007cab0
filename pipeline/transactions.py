"""The driver's side of transactional batches: commit when Spark commits, roll back when it aborts.

    tasks end  ->  verdict written  ->  brokers notified  ->  verdict done  ->  Spark records the batch

A driver that dies leaves one of these states, and Spark repeats a batch that it has not recorded:

- no verdict: no message is visible. The repeated batch sends its rows again, and those are committed; half
  messages of the first attempt remain for the brokers' checks (`halves`).
- an open verdict: the messages it names are the rows, and some may be visible. Their commit is completed, and
  the messages of the repeated batch are rolled back.
- a verdict that is done: the messages of the repeated batch are rolled back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Self

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.transactions import TransactionProducer
from mqgateway.pipeline.brokers import client_settings, new_producer_client
from mqgateway.pipeline.ending import Ending
from mqgateway.pipeline.halves import Answers
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.verdicts import Places, Transaction, Verdict, Verdicts

log = logging.getLogger(__name__)


class Transactions:
    """Commits and rolls back the batches of a query for its driver; must be closed."""

    def __init__(self, options: SinkOptions, tls: TlsOptions, verdicts: Verdicts, query: str) -> None:
        self._verdicts = verdicts
        self._loop = Loop.shared()
        self._clock: Clock = self._loop.clock
        self._client = new_producer_client(options, tls)
        answers = Answers(verdicts.newest_done(query))
        # A member of the group, so that brokers can check transactions while outcomes are sent.
        self._producer = self._loop.do(
            lambda: TransactionProducer(
                options.producer_group, self._loop, answers, client=self._client, **client_settings(options)
            )
        )
        self._loop.call(self._producer.start)
        self._ending = Ending(options, self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the producer and the connections."""
        self._loop.call(self._producer.close)
        self._loop.call(self._client.close)

    def commit(self, transaction: Transaction, places: Iterable[Places]) -> None:
        """Commit these rows, unless others of the transaction were committed before. Raises `SinkError`."""
        for before in self._verdicts.open_ones(transaction.query):
            log.warning("transaction %s was not completed: continuing", before.transaction.mark)
            self._finish(before, again=True)
        places = tuple(places)
        if not places:
            return
        if self._verdicts.read(transaction) is not None:
            log.warning("transaction %s was committed before: its repetition is dropped", transaction.mark)
            self._verdicts.clear(transaction)
            self._ending.roll_back(places, self._producer.group, transaction.mark)
            return
        verdict = Verdict(transaction, self._producer.group, self._clock.millis(), places)
        self._verdicts.write(verdict)
        self._finish(verdict, again=False)

    def abort(self, transaction: Transaction, places: Iterable[Places]) -> None:
        """Roll back a batch that Spark aborts. One with a verdict stays: Spark's repetition completes its
        commit."""
        if self._verdicts.read(transaction) is not None:
            log.warning("transaction %s is to be committed: it continues with the query", transaction.mark)
            return
        self._ending.roll_back(places, self._producer.group, transaction.mark)

    def _finish(self, verdict: Verdict, *, again: bool) -> None:
        self._ending.commit(verdict, again=again)
        self._verdicts.write(verdict.done())
