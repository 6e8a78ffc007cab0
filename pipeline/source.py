"""The data source `rocketmq`: the API that Spark calls to read; `sink` is the one to write.

    spark.read.format("rocketmq").option("nameServer", ...).option("topic", ...).load()
    spark.readStream...            frame.write.mode("append")...            frame.writeStream...

Spark creates these objects again in several processes: in the driver's planning, in one long-lived process
for a stream, in each task. They hold options only; connections are made where they are used. Neither the last
`commit` nor `stop` of a stream can be relied on: nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

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
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.pipeline import columns
from mqgateway.pipeline.arrow import ArrowBatches
from mqgateway.pipeline.brokers import Brokers
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.offsets import Tree, as_tree, from_tree
from mqgateway.pipeline.options import parse_tls
from mqgateway.pipeline.plain import plainly
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.pushdown import Narrowing
from mqgateway.pipeline.query import Query
from mqgateway.pipeline.reading import RangeReader
from mqgateway.pipeline.request import ReadRequest, read_request
from mqgateway.pipeline.sink import BatchWriter, StreamWriter

_OPERATORS: Mapping[type, str] = {
    EqualTo: "=",
    In: "in",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}


class RocketMQDataSource(DataSource):
    """The format `rocketmq`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "rocketmq"

    @plainly()
    def schema(self) -> str:
        """Return the stock connector's columns, or those of the option includeColumns."""
        text = self.options.get("includeColumns") or ""
        return columns.ddl(columns.chosen(text, columns.SOURCE))

    @plainly()
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        given = dict(self.options)
        request = read_request(given, is_stream=False)
        return FilteredReader(given) if request.options.push_down_filters else BatchReader(given)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        return StreamReader(dict(self.options))

    @plainly()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return the sink of a batch."""
        if overwrite:
            raise BadOption("mode", "overwrite", "messages cannot be taken back", "use mode append")
        return BatchWriter(dict(self.options), schema)

    @plainly()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Return the sink of a stream."""
        return StreamWriter(dict(self.options), schema)


class RangePartition(InputPartition):
    """The range that one task reads."""

    def __init__(self, range_: Range) -> None:
        super().__init__(tuple(range_))
        self.range = range_

    def __repr__(self) -> str:
        queue = self.range.queue
        place = f"{queue.topic}/{queue.broker_name}/{queue.queue_id}"
        return f"{place}[{self.range.start}, {self.range.end})"


def read_partition(
    given: Mapping[str, str], request: ReadRequest, partition: InputPartition
) -> Iterator[Any]:
    """Yield the record batches of a partition; none for the empty one that Spark makes when there are no
    others."""
    if not isinstance(partition, RangePartition):
        return
    batches = ArrowBatches(request.columns)
    reader = RangeReader(request, parse_tls(given))
    try:
        with plainly():
            yield from reader.batches(partition.range, batches.make)
    finally:
        reader.close()


class BatchReader(DataSourceReader):
    """A batch: its ranges are fixed when it is planned."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._request = read_request(given, is_stream=False)
        self._narrowing = Narrowing()

    @plainly()
    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for each range."""
        tls = parse_tls(self._given)
        with Brokers(self._request.options, tls) as brokers:
            ranges = Query(self._request, brokers).batch(self._narrowing)
        if isinstance(self._request.wanted, Sql):
            reader = RangeReader(self._request, tls)
            try:
                reader.check_filter(ranges)
            finally:
                reader.close()
        return [RangePartition(one) for one in ranges]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Return the record batches of a range."""
        return read_partition(self._given, self._request, partition)


class FilteredReader(BatchReader):
    """A batch that accepts Spark's filters; used only with the option pushDownFilters."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Apply the filters that can be applied; yield those that Spark must check."""
        for one in filters:
            name = _OPERATORS.get(type(one))
            attribute: tuple[str, ...] = getattr(one, "attribute", ())
            is_known = name is not None and len(attribute) == 1
            if not (is_known and self._narrowing.take((str(name), attribute[0], one.value))):
                yield one


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream, with offsets as the stock connector's JSON. The options are validated at the first call:
    Spark replaces an error raised by the constructor with one of its own."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._query_made: Query | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without connections, as tasks get this object too."""
        return {**self.__dict__, "_query_made": None}

    @cached_property
    def _request(self) -> ReadRequest:
        return read_request(self._given, is_stream=True)

    @property
    def _query(self) -> Query:
        if self._query_made is None:
            brokers = Brokers(self._request.options, parse_tls(self._given))
            self._query_made = Query(self._request, brokers)
        return self._query_made

    @plainly()
    def initialOffset(self) -> dict[str, Any]:
        """Return the offsets at which a stream without a checkpoint begins."""
        return dict(as_tree(self._query.initial()))

    @plainly()
    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a micro-batch, if one is set."""
        limit = self._request.options.limit_per_trigger
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    @plainly()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next micro-batch."""
        count = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        return dict(as_tree(self._query.next_end(from_tree(start), count)))

    @plainly()
    def reportLatestOffset(self) -> Tree | None:
        """Return the end of the queues, for the progress that Spark reports."""
        return as_tree(self._query.newest())

    @plainly()
    def prepareForTriggerAvailableNow(self) -> None:
        """Leave later messages for the next run."""
        self._query.freeze()

    @plainly()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return a partition for each range of a micro-batch."""
        ranges = self._query.stream(from_tree(start), from_tree(end))
        return [RangePartition(one) for one in ranges]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Return the record batches of a range."""
        return read_partition(self._given, self._request, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the end is in Spark's checkpoint, and no other state is kept."""

    def stop(self) -> None:
        """Do nothing: the process ends with the query, and its connections with it."""
