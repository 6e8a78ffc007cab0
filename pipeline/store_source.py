"""The data source `rocketmq-store`: the log of a store, ours or Apache's, read without a broker.

    spark.read.format("rocketmq-store").option("storeDir", "/data/store").load()

The store may belong to a member of a DLedger group. Every task reads a part of a file; the folder must be the
same for driver and executors.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mqgateway.engine.real_disk import ReadOnlyDisk
from mqgateway.pipeline import columns
from mqgateway.pipeline.arrow import ArrowBatches
from mqgateway.pipeline.columns import Place
from mqgateway.pipeline.files import Counts, Selection, Split, add_found, log_folders, scan, splits
from mqgateway.pipeline.options import StoreReadOptions, names, parse, required
from mqgateway.pipeline.plain import plainly
from mqgateway.pipeline.rows import Rows

log = logging.getLogger(__name__)


class StoreDataSource(DataSource):
    """The format `rocketmq-store`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "rocketmq-store"

    @plainly()
    def schema(self) -> str:
        """Return the columns."""
        options = _options(dict(self.options))
        return columns.ddl(_columns(options))

    @plainly()
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch; streams are not supported."""
        return StoreReader(dict(self.options))


class SplitPartition(InputPartition):
    """The split that one task reads."""

    def __init__(self, split: Split) -> None:
        super().__init__(tuple(split))
        self.split = split


class StoreReader(DataSourceReader):
    """Reads a store."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._options = _options(given)

    @plainly()
    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for each split."""
        disk = ReadOnlyDisk()
        return [
            SplitPartition(one)
            for folder in log_folders(disk, self._options.store_dir)
            for one in splits(disk, folder, self._options.split_bytes)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of a split."""
        if not isinstance(partition, SplitPartition):
            return
        options = self._options
        batches, rows, counts = ArrowBatches(_columns(options)), Rows(), Counts()
        place = Place("", options.broker_name)
        selection = Selection(
            frozenset(names(options.topic)),
            options.include_system_topics,
            options.skip_corrupt,
            options.corrupt_rows,
        )
        for found in scan(ReadOnlyDisk(), partition.split, options.check_crc):
            add_found(rows, found, selection, counts)
            if len(rows) >= options.arrow_batch_rows or rows.size >= options.task_memory_bytes:
                yield batches.make(rows, place)
                rows.clear()
        if rows:
            yield batches.make(rows, place)
        if counts.damages:
            log.warning(
                "%s: %d damaged ranges with %d bytes, and %d rows",
                partition.split.path,
                counts.damages,
                counts.damaged_bytes,
                counts.rows,
            )


def _options(given: Mapping[str, str]) -> StoreReadOptions:
    """Parse the options; the path of `load(path)` is the store's folder."""
    chosen = dict(given)
    path = chosen.pop("path", "")
    if path:
        chosen.setdefault("storedir", path)
    options = parse(StoreReadOptions, chosen)
    required(options, "store_dir")
    return options


def _columns(options: StoreReadOptions) -> tuple[str, ...]:
    default = (*columns.STORE, "corrupt") if options.corrupt_rows else columns.STORE
    return columns.chosen(options.include_columns, default)
