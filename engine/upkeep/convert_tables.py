"""Tables and ends of queues for a store whose records `convert_records` has replaced.

Topics that Kafka clients made become ordinary ones: without Kafka's attributes, and with ordinary queues.
The topics of the coordinators of Kafka go; offsets of groups are in the broker's own table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BATCH_UNIT_SIZE
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.tables.kafka_configs import PREFIX
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files, read
from mqgateway.engine.upkeep.queue_check import last_number

_QUEUE_TYPE = "queue.type"
_TOPICS = "config/topics.json"


def convert_topics(disk: Disk, root: str) -> set[str]:
    """Rewrite the table of topics of a store; the topics that have become ordinary ones.

    Raises `ConfigError` if it cannot be read, and `OSError`.
    """
    path = f"{root}/{_TOPICS}"
    table = load_table(disk, path)
    topics = (table or {}).get("topicConfigTable")
    if table is None or not isinstance(topics, dict):
        return set()
    converted = set()
    for name in KAFKA_COORDINATOR_TOPICS:
        topics.pop(name, None)
    for name, config in topics.items():
        attributes = config.get("attributes") if isinstance(config, dict) else None
        if not isinstance(attributes, dict):
            continue
        if attributes.get(MESSAGE_FORMAT) == KAFKA_FORMAT:
            attributes.pop(_QUEUE_TYPE, None)
            converted.add(name)
        config["attributes"] = _without_kafka(attributes)
    save_table(disk, path, table)
    if disk.exists(f"{path}.bak"):
        disk.unlink(f"{path}.bak")
        disk.sync_dir(f"{root}/config")
    return converted


def _without_kafka(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in attributes.items()
        if name != MESSAGE_FORMAT and not str(name).startswith(PREFIX)
    }


def keep_end(source: Layout, folder: str, made: Layout, topic: str, queue_id: int) -> None:
    """Let an ordinary queue of the new store end where a queue of batches does, for `rebuild`, which keeps
    the last unit of a queue that has no message any more. Raises `OSError`."""
    files = find_files(source.pool, folder, StorePart.BATCH_QUEUE, Findings(), "")
    number = last_number(files, BATCH_UNIT_SIZE) if files.file_size % BATCH_UNIT_SIZE == 0 else -1
    unit = read(files, number * BATCH_UNIT_SIZE, BATCH_UNIT_SIZE) if number >= 0 else b""
    if len(unit) < BATCH_UNIT_SIZE:
        return
    position, size, code, _, base, count = BATCH_UNIT.unpack(unit)[:6]
    file_size = -(-source.options.mapped_file_size_consume_queue // UNIT_SIZE) * UNIT_SIZE
    end = (base + count) * UNIT_SIZE
    start = (end - UNIT_SIZE) // file_size * file_size
    target = f"{made.queues}/{topic}/{queue_id}"
    made.disk.makedirs(target)
    file = made.disk.open(f"{target}/{file_name(start)}", create=True)
    try:
        file.truncate(file_size)
        # The last unit is found by halving, so there is one at each place before it.
        file.write(0, UNIT.pack(position, size, code) * ((end - start) // UNIT_SIZE))
    finally:
        file.close()
