"""The command that shows a file of a compacted topic. Standard: `DumpCompactionLogCommand`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqgateway.gateway.client.reading import read_messages
from mqgateway.gateway.mqadmin.commands.reading import as_java, message_row
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)


@command(
    "dumpCompactionLog",
    CommandOption("f", "file", "file under compaction/compactionLog of a store", values=NameKind.FILE),
    text=lambda call, rows: (f"{as_java(row, with_body=False)}\n" for row in rows),
)
def dump(call: CommandCall) -> Iterator[Row]:
    """Up to where no message follows. Raises `UsageError` for a file that cannot be read."""
    path = Path(call.given.need("f"))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    yield from (message_row(one) for one in read_messages(data, ""))
