"""The sink of the format `rocketmq`: the API that Spark calls to write, in tasks and on the driver.

Spark creates the writer again for every batch, on the driver, and sends a copy to each task; `commit` and
`abort` are called in a process of their own. So a writer holds options, and the last committed verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from mqgateway.engine.message import DEFAULT_TOPIC
from mqgateway.pipeline.arrow import records
from mqgateway.pipeline.brokers import Brokers
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.folder import ArrowFolder
from mqgateway.pipeline.halves import HalfSender
from mqgateway.pipeline.options import SinkOptions, check_names, check_servers, parse
from mqgateway.pipeline.outgoing import check_columns, check_transactional
from mqgateway.pipeline.plain import plainly
from mqgateway.pipeline.sending import TaskSender
from mqgateway.pipeline.transactions import Transactions
from mqgateway.pipeline.verdicts import Places, Transaction, Verdict, Verdicts

BATCH_ID = "streaming.sql.batchId"
QUERY_ID = "sql.streaming.queryId"
QUERY = "query"
FOLDER = "rocketmq-transactions"


class SentRows(WriterCommitMessage):
    """The result of a task: number of rows, their batch, and positions if they are half messages."""

    def __init__(self, count: int, transaction: Transaction, places: tuple[Places, ...]) -> None:
        self.count = count
        self.transaction = transaction
        self.places = places


class _Writer:
    """The common part of both writers. `checkpoint` is the query's, if there is one."""

    def __init__(self, given: Mapping[str, str], schema: StructType, checkpoint: str = "") -> None:
        self._options = options = parse(SinkOptions, given)
        self._tls = check_servers(options, given)
        check_names("topic", options.topic, [options.topic] if options.topic else [])
        check_names("producerGroup", options.producer_group, [options.producer_group], is_group=True)
        types = {field.name: field.dataType.simpleString() for field in schema.fields}
        check_columns(types, options)
        self._folder = ""
        self._last: Verdict | None = None
        if options.transactional:
            default = f"{checkpoint.rstrip('/')}/{FOLDER}" if checkpoint else ""
            self._folder = options.transaction_log or default
            check_transactional(types, options, self._folder)
            self._last = self._verdicts().newest_done(self._query)

    @property
    def _query(self) -> str | None:
        """The query of the transactions, as far as the driver knows it."""
        return None

    def _verdicts(self) -> Verdicts:
        try:
            return Verdicts(ArrowFolder(self._folder))
        except (ValueError, OSError) as error:
            right = "name a path, or a URI of a file system that Arrow knows"
            raise BadOption("transactionLog", self._folder, str(error), right) from None

    def _send(self, batches: Iterator[Any], transaction: Transaction, key: str) -> SentRows:
        """Send the rows of a task; `key` begins the property that identifies repeats, if it is not empty."""
        options = self._options
        key = f"{key}/{_context().partitionId()}" if key else ""
        sender = (
            HalfSender(options, self._tls, transaction, self._last, key or None)
            if options.transactional
            else TaskSender(options, self._tls, key or None)
        )
        try:
            for rows in batches:
                sender.send(records(rows))
            count = sender.finish()
            return SentRows(count, transaction, sender.places())
        except BaseException:
            sender.take_back()
            raise
        finally:
            sender.close()

    def _end(self, messages: list[WriterCommitMessage | None], *, commits: bool) -> None:
        """Commit or roll back the half messages of the tasks, if there are any. Failed tasks have none."""
        sent = [one for one in messages if isinstance(one, SentRows)]
        if not (self._options.transactional and sent):
            return
        [transaction] = {one.transaction for one in sent}
        places = [place for one in sent for place in one.places]
        with Transactions(self._options, self._tls, self._verdicts(), transaction.query) as transactions:
            (transactions.commit if commits else transactions.abort)(transaction, places)


class BatchWriter(_Writer, DataSourceArrowWriter):
    """The sink of a batch. Repeats are identified by key, partition and row."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        super().__init__(given, schema)
        key, name = self._options.idempotence_key, "idempotenceKey"
        if key == QUERY:
            raise BadOption(name, QUERY, "a batch has no query id", "give a text of your own")
        if self._options.transactional and not key:
            right = "give a name by which a repetition of this batch is known"
            raise BadOption(name, "", "is needed for transactional", right)
        # Before tasks start: each of them would wait for unreachable servers.
        with Brokers(self._options, self._tls) as brokers:
            brokers.queues([self._options.topic or DEFAULT_TOPIC])

    @property
    def _query(self) -> str | None:
        return self._options.idempotence_key

    @plainly()
    def write(self, iterator: Iterator[Any]) -> SentRows:
        """Send the rows of a task."""
        key = self._options.idempotence_key
        return self._send(iterator, Transaction(key, 0), key)

    @plainly()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make half messages visible; every task has waited for its acknowledgements."""
        self._end(messages, commits=True)

    @plainly()
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Roll back half messages; other messages stay sent."""
        self._end(messages, commits=False)


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """The sink of a stream. Repeats are identified by query, batch, partition and row."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        checkpoint = next((text for name, text in given.items() if name.lower() == "checkpointlocation"), "")
        super().__init__(given, schema, checkpoint)

    @plainly()
    def write(self, iterator: Iterator[Any]) -> SentRows:
        """Send the rows of a task."""
        context, key = _context(), self._options.idempotence_key
        query, batch = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        begin = query if key == QUERY else key
        return self._send(iterator, Transaction(query, int(batch)), f"{begin}/{batch}" if begin else "")

    @plainly()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Make half messages visible; every task has waited for its acknowledgements."""
        self._end(messages, commits=True)

    @plainly()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Roll back half messages; other messages stay sent. Spark repeats the batch."""
        self._end(messages, commits=False)


def _context() -> Any:
    context = TaskContext.get()
    assert context is not None
    return context
