"""Files of a store that is restored from its tier, beside the log: tables, queues, checkpoint."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Final

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.message import KAFKA_TRANSACTIONS_TOPIC
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.tier.directory import QueueHistory, TierDirectory
from mqgateway.engine.tier.format.index import QueueKind
from mqgateway.engine.tier.format.tables import TierTables
from mqgateway.engine.tier.table_saving import ALIVE_SECONDS, TABLES_SECONDS
from mqgateway.engine.upkeep.backup import BATCH_QUEUES, QUEUES, store_time_at
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.manifest import write
from mqgateway.engine.upkeep.restore import Ends

_REPEATED: Final = ("config/delayOffset.json", "config/consumerOrderInfo.json")
"""Tables of progress in queues that the tier does not have."""
_ENDS_MILLIS: Final = int(1000 * (ALIVE_SECONDS + TABLES_SECONDS))
"""Time by which ends of queues may be older than the tables with which they are saved."""
_FOLDERS: Final = {QueueKind.MESSAGES: QUEUES, QueueKind.BATCHES: BATCH_QUEUES}


def shapes_of(tables: TierTables) -> list[tuple[str, int]]:
    """Return the settings of lengths of files that the lost store had."""
    shapes = tables.shapes
    found = (
        ("mapped_file_size_consume_queue", shapes.queue_file),
        ("mapper_file_size_batch_consume_queue", shapes.batch_queue_file),
        ("max_hash_slot_num", shapes.index_slots),
        ("max_index_num", shapes.index_entries),
    )
    return [(name, value) for name, value in found if value > 1]


def write_tables(disk: Disk, root: str, tables: TierTables) -> None:
    """Write the tables of a store, except those of progress in queues that are not restored."""
    for path, data in tables.files.items():
        if path not in _REPEATED:
            write(disk, f"{root}/{path}", data)


def write_checkpoint(layout: Layout, marker: int, last_time: int) -> None:
    """Note that all is on stable storage, up to the marker at the end of the log.

    `last_time` is the store time of the last message in ms.
    """
    files = FileQueue(layout.log_pool, layout.commit_log, layout.options.mapped_file_size_commit_log)
    files.starts = files.examine()
    checkpoint = Checkpoint(layout.disk, layout.checkpoint)
    checkpoint.load()
    time = store_time_at(files, marker)
    checkpoint.physic_msg_timestamp = checkpoint.logics_msg_timestamp = time
    checkpoint.index_msg_timestamp = min(time, last_time)
    checkpoint.logics_physical_offset = marker
    checkpoint.save().sync()
    checkpoint.close()


def make_queue_folders(disk: Disk, root: str, tables: TierTables | None, directory: TierDirectory) -> None:
    """Make the folders of topics that the table of topics may lack, by which a rebuild knows them.

    A large table is written later than its journal, and a topic may be younger than the tables.
    """
    for kind, topics in {} if tables is None else tables.ends.items():
        for topic in topics:
            make_directories(disk, f"{root}/{kind}/{topic}")
    for topic, _, history in _younger(tables, directory):
        make_directories(disk, f"{root}/{_FOLDERS[history.kind]}/{topic}")


def ends_in_tier(tables: TierTables | None, directory: TierDirectory, topics: Container[str]) -> Ends:
    """Return the next offsets of all queues of a store whose messages are in the tier only.

    A queue without messages in the tier has the end that was saved with the tables. Other queues are of
    `topics`, those in the table of topics, or younger; the topic of any other one was deleted.
    """
    saved: Mapping[str, Mapping[str, Mapping[str, int]]] = {} if tables is None else tables.ends
    ends = {kind: {topic: dict(ids) for topic, ids in topics.items()} for kind, topics in saved.items()}
    known = {topic for kind in saved.values() for topic in kind}
    known.update(topic for topic, _, _ in _younger(tables, directory))
    for (topic, queue_id), history in directory.histories():
        if topic in known or topic in topics:
            of_kind = ends.setdefault(_FOLDERS[history.kind], {})
            of_kind.setdefault(topic, {})[str(queue_id)] = history.end_offset
    return ends


def has_kafka_transactions(tables: TierTables | None) -> bool:
    """Return True if a broker has coordinated transactions of Kafka clients."""
    kinds = () if tables is None else tables.ends.values()
    return any(end > 0 for topics in kinds for end in topics.get(KAFKA_TRANSACTIONS_TOPIC, {}).values())


def _younger(tables: TierTables | None, directory: TierDirectory) -> Iterator[tuple[str, int, QueueHistory]]:
    """Yield the queues with messages that are not older than the ends of queues in the tables."""
    made = 0 if tables is None else tables.made - _ENDS_MILLIS
    for (topic, queue_id), history in directory.histories():
        if history.last_time >= made:
            yield topic, queue_id, history
