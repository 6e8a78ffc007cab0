"""Raw rows as Arrow record batches, and columns of record batches as Python values.

Buffers go into Arrow as they are: nothing is made for a single cell but for keys and maps of properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from mqgateway.pipeline.columns import ALL, Cells, NumberColumn, Place, TextColumn
from mqgateway.pipeline.rows import Rows

_TYPES: dict[str, Any] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.field("element", pa.string(), nullable=True)),
    "map<string,string>": pa.map_(pa.string(), pa.field("value", pa.string(), nullable=True)),
}


class ArrowBatches:
    """Makes record batches of the columns that are wanted."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._columns = [ALL[name] for name in wanted]
        self.schema = pa.schema([pa.field(one.name, _TYPES[one.ddl]) for one in self._columns])

    def make(self, rows: Rows, place: Place) -> Any:
        """Return a record batch of all rows."""
        count = len(rows)
        arrays = [
            _array(field.type, count, column.cells(rows, place))
            for field, column in zip(self.schema, self._columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _array(kind: Any, count: int, cells: Cells) -> Any:
    if isinstance(cells, NumberColumn):
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(cells.data)])
    if isinstance(cells, TextColumn):
        validity = None if cells.validity is None else pa.py_buffer(cells.validity)
        buffers = [validity, pa.py_buffer(cells.offsets), pa.py_buffer(cells.data)]
        return pa.Array.from_buffers(kind, count, buffers)
    return pa.array(cells, type=kind)


def records(batch: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record batch, each as values by name of column."""
    names = batch.schema.names
    for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield dict(zip(names, values, strict=True))
