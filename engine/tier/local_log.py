"""The log of a store that is saved to a tier, read beside the broker that may have it open."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import START, examine
from mqgateway.engine.tables.retention import RetentionLimits
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.tier.retention_classes import ClassOf, TopicLimits, classes_of, kept_limits
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files, read, require_log
from mqgateway.engine.upkeep.table_check import check_tables, read_checkpoint, topics_of


class LocalLog(NamedTuple):
    """The files of a log, its begin, and the offset up to which it is on stable storage."""

    files: FileQueue
    start: int
    limit: int
    path: str

    def matches(self, position: int, size: int, digest: bytes) -> bool | None:
        """Return True if bytes of the log have a SHA-256, False if not; None if they are not there, or are
        others and not on stable storage. Raises `OSError`.

        Records after the limit count too: the checkpoint leaves out those at the end that enter no queue.
        """
        data = read(self.files, position, size) if position >= self.start else b""
        if len(data) == size and hashlib.sha256(data).digest() == digest:
            return True
        return None if position < self.start or position + size > self.limit else False


def open_log(layout: Layout) -> LocalLog:
    """Open the log of a store. Raises `StoreUnavailable` if there is none of this kind, `StoreError` for
    files that do not fit together, `OSError`.

    The checkpoint has the start of the last record that is flushed with the queues.
    """
    require_log(layout)
    if layout.ledger:
        raise StoreUnavailable(
            f"{layout.root} is a DLedger member's, whose log is in {layout.ledger}: only ordinary stores can "
            "be saved to a tier"
        )
    layout.log_pool.clear()  # a file may have been truncated, which replaces it
    findings = Findings()
    files = find_files(layout.log_pool, layout.commit_log, StorePart.LOG, findings, "")
    if findings.errors:
        raise StoreError(f"{findings.kept[0]}; for details run mqgateway store check {layout.root}")
    start = files.starts[0] if files.starts else 0
    last = read_checkpoint(layout, Findings()).logics_offset
    size = _record_size(files, last)
    return LocalLog(files, start, last + size if size else start, layout.root)


def _record_size(files: FileQueue, position: int) -> int:
    """Return the size of the record at a position; 0 if there is none."""
    head = read(files, position, START.size)
    size = START.unpack(head)[0] if len(head) == START.size else 0
    if not 0 < size <= files.file_size:
        return 0
    found = examine(read(files, position, size), 0, position, True)
    return found if isinstance(found, int) else 0


def classes_in(layout: Layout, default_millis: int) -> ClassOf:
    """Return the function that looks up retention classes in the store's table of topics. Topics without a
    time of their own are kept for `default_millis`."""
    return classes_of(_topics_in(layout), default_millis)


def limits_in(layout: Layout, default_millis: int) -> TopicLimits:
    """Return what is kept of each topic in the store's table of topics.

    A topic counts as deleted if it is not in the table, and has no queue. Without a table none does.
    """
    configs = _topics_in(layout)
    queues = (*layout.disk.subdirs(layout.queues), *layout.disk.subdirs(layout.batch_queues))
    return TopicLimits(
        {name: kept_limits(config, default_millis) for name, config in configs.items()},
        RetentionLimits(default_millis, None),
        frozenset(queues),
        are_known=bool(configs),
    )


def _topics_in(layout: Layout) -> dict[str, TopicConfig]:
    """Return the table of topics of a store, empty without one."""
    table = topics_of(check_tables(layout, Findings()))
    configs: dict[str, TopicConfig] = {}
    for name, value in table.items() if isinstance(table, dict) else ():
        attributes = value.get("attributes") if isinstance(value, dict) else None
        found = attributes if isinstance(attributes, dict) else {}
        configs[name] = TopicConfig(name, attributes={str(key): str(found[key]) for key in found})
    return configs


def batch_topics_in(layout: Layout) -> frozenset[bytes]:
    """Return the topics with queues of batches."""
    return frozenset(topic.encode() for topic in layout.disk.subdirs(layout.batch_queues))
