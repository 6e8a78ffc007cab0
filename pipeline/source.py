"""The data source `rocketmq`: what Spark calls, and nothing else; the rest of `pipeline` knows no Spark.

    spark.read.format("rocketmq").option("nameServer", ...).option("topic", ...).load()
    spark.readStream...            frame.write.mode("append")...            frame.writeStream...

Spark makes these objects anew in several processes: in the driver's planning, in one long-lived process for a
stream, in each task. They hold options only; connections are made where they are used. Neither the last
`commit` nor `stop` of a stream can be relied on: nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from pipeline import columns
from pipeline.arrow import Batches, records
from pipeline.brokers import Brokers
from pipeline.errors import BadOption
from pipeline.offsets import Tree, as_tree, from_tree
from pipeline.options import SinkOptions, parse, parse_tls, required
from pipeline.outgoing import check_columns
from pipeline.planning import Range
from pipeline.pushdown import Narrowing
from pipeline.query import Query
from pipeline.reading import RangeReader
from pipeline.request import Request, read_request
from pipeline.sending import TaskSender

_OPERATORS: Mapping[type, str] = {
    EqualTo: "=",
    In: "in",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}
BATCH_ID = "streaming.sql.batchId"
QUERY_ID = "sql.streaming.queryId"
QUERY = "query"


class RocketMQDataSource(DataSource):
    """The format `rocketmq`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "rocketmq"

    def schema(self) -> str:
        """The stock connector's columns, or those that are wanted."""
        text = self.options.get("includeColumns") or ""
        return columns.ddl(columns.chosen(text, columns.SOURCE))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch."""
        given = dict(self.options)
        request = read_request(given, is_stream=False)
        return FilteredReader(given) if request.options.push_down_filters else BatchReader(given)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A stream."""
        return StreamReader(dict(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """The sink of a batch."""
        if overwrite:
            raise BadOption("mode", "overwrite", "messages cannot be taken back", "use mode append")
        return BatchWriter(dict(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """The sink of a stream."""
        return StreamWriter(dict(self.options), schema)


class RangePartition(InputPartition):
    """What one task reads."""

    def __init__(self, range_: Range) -> None:
        super().__init__(tuple(range_))
        self.range = range_

    def __repr__(self) -> str:
        queue = self.range.queue
        place = f"{queue.topic}/{queue.broker_name}/{queue.queue_id}"
        return f"{place}[{self.range.start}, {self.range.end})"


def read_partition(given: Mapping[str, str], request: Request, partition: InputPartition) -> Iterator[Any]:
    """The record batches of a partition; none of the empty one that Spark makes when there are no others."""
    if not isinstance(partition, RangePartition):
        return
    batches = Batches(request.columns)
    reader = RangeReader(request, parse_tls(given))
    try:
        yield from reader.batches(partition.range, batches.make)
    finally:
        reader.close()


class BatchReader(DataSourceReader):
    """A batch: its ranges are fixed when it is planned."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._request = read_request(given, is_stream=False)
        self._narrowing = Narrowing()

    def partitions(self) -> Sequence[InputPartition]:
        """One for each range."""
        with Brokers(self._request.options, parse_tls(self._given)) as brokers:
            return [RangePartition(one) for one in Query(self._request, brokers).batch(self._narrowing)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The record batches of a range."""
        return read_partition(self._given, self._request, partition)


class FilteredReader(BatchReader):
    """A batch that takes Spark's filters; only given out when they are asked for."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Take what can be taken; give back what Spark is to look at."""
        for one in filters:
            name = _OPERATORS.get(type(one))
            attribute: tuple[str, ...] = getattr(one, "attribute", ())
            is_known = name is not None and len(attribute) == 1
            if not (is_known and self._narrowing.take((str(name), attribute[0], one.value))):
                yield one


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream: its offsets are the stock connector's JSON."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._request = read_request(given, is_stream=True)
        self._query_made: Query | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without connections: tasks get this object as well."""
        return {**self.__dict__, "_query_made": None}

    @property
    def _query(self) -> Query:
        if self._query_made is None:
            brokers = Brokers(self._request.options, parse_tls(self._given))
            self._query_made = Query(self._request, brokers)
        return self._query_made

    def initialOffset(self) -> dict[str, Any]:
        """Where to begin without a checkpoint."""
        return dict(as_tree(self._query.initial()))

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit of a micro-batch, if one is set."""
        limit = self._request.options.limit_per_trigger
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next micro-batch ends."""
        count = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        return dict(as_tree(self._query.next_end(from_tree(start), count)))

    def reportLatestOffset(self) -> Tree | None:
        """Where the queues end, for the progress that Spark reports."""
        return as_tree(self._query.newest())

    def prepareForTriggerAvailableNow(self) -> None:
        """What comes from now on is left for the next run."""
        self._query.freeze()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for each range of a micro-batch."""
        ranges = self._query.stream(from_tree(start), from_tree(end))
        return [RangePartition(one) for one in ranges]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The record batches of a range."""
        return read_partition(self._given, self._request, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark's checkpoint has it; nothing else is kept."""

    def stop(self) -> None:
        """The process ends with the query, and its connections with it."""


class SentMessage(WriterCommitMessage):
    """A task is done: how many rows it sent."""

    def __init__(self, count: int) -> None:
        self.count = count


def _write(given: Mapping[str, str], key: str | None, batches: Iterator[Any]) -> SentMessage:
    options = parse(SinkOptions, given)
    sender = TaskSender(options, parse_tls(given), key)
    try:
        for batch in batches:
            sender.send(records(batch))
        return SentMessage(sender.finish())
    finally:
        sender.close()


def _checked_sink(given: Mapping[str, str], schema: StructType) -> SinkOptions:
    options = parse(SinkOptions, given)
    parse_tls(given)
    required(options, "name_server")
    check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, options)
    return options


class BatchWriter(DataSourceArrowWriter):
    """The sink of a batch: rows may arrive more than once when tasks are repeated."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given = given
        self._key = _checked_sink(given, schema).idempotence_key
        if self._key == QUERY:
            raise BadOption("idempotenceKey", QUERY, "a batch has no query id", "give a text of your own")

    def write(self, iterator: Iterator[Any]) -> SentMessage:
        """Send the rows of a task."""
        context = TaskContext.get()
        assert context is not None
        key = f"{self._key}/{context.partitionId()}" if self._key else None
        return _write(self._given, key, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """The sink of a stream: the same, and repeats can be told by query, batch, partition and row."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given = given
        self._key = _checked_sink(given, schema).idempotence_key

    def write(self, iterator: Iterator[Any]) -> SentMessage:
        """Send the rows of a task."""
        context = TaskContext.get()
        assert context is not None
        key = None
        if self._key:
            begin = context.getLocalProperty(QUERY_ID) if self._key == QUERY else self._key
            key = f"{begin}/{context.getLocalProperty(BATCH_ID)}/{context.partitionId()}"
        return _write(self._given, key, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Every task has waited for its acknowledgements."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """What was sent stays sent: Spark repeats the batch."""
