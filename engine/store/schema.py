"""Every on-disk format of the store, declared with construct.

This is the specification, the printer of the dump tool, and the oracle that the fast paths (`record.py`,
`client_elements.py`, `consume_queue.py`, `batch_consume_queue.py`, `index_file.py`, `checkpoint.py`) are
tested against. Nothing here is on a hot path. All integers are big-endian. RocketMQ: `CommitLog`,
`ConsumeQueue`, `BatchConsumeQueue`, `IndexFile`, `StoreCheckpoint`.
"""

from construct import (
    Array,
    Bytes,
    Computed,
    Const,
    GreedyBytes,
    GreedyRange,
    IfThenElse,
    Int8ub,
    Int16sb,
    Int32sb,
    Int32ub,
    Int64sb,
    Padding,
    Prefixed,
    Rebuild,
    Struct,
    len_,
    this,
)

from mqgateway.engine.message import SysFlag

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB
MAGIC_BLANK = 0xCBD43194

RECORD = Struct(
    "total_size" / Int32sb,
    "magic" / Int32ub,
    "body_crc" / Int32sb,
    "queue_id" / Int32sb,
    "flag" / Int32sb,
    "queue_offset" / Int64sb,
    "physical_offset" / Int64sb,
    "sys_flag" / Int32sb,
    "born_timestamp" / Int64sb,
    "born_host" / Bytes(lambda c: 20 if c.sys_flag & SysFlag.BORN_HOST_V6 else 8),
    "store_timestamp" / Int64sb,
    "store_host" / Bytes(lambda c: 20 if c.sys_flag & SysFlag.STORE_HOST_V6 else 8),
    "reconsume_times" / Int32sb,
    "prepared_transaction_offset" / Int64sb,
    "body" / Prefixed(Int32sb, GreedyBytes),
    "topic"
    / IfThenElse(this.magic == MAGIC_V2, Prefixed(Int16sb, GreedyBytes), Prefixed(Int8ub, GreedyBytes)),
    "properties" / Prefixed(Int16sb, GreedyBytes),
)
"""One message in the commit log; see `record.py` for its validity."""

BLANK = Struct("size" / Int32sb, "magic" / Const(MAGIC_BLANK, Int32ub))
"""The end of a commit log file that has `size` bytes left."""

BATCH_ELEMENT = Struct(
    "total_size" / Rebuild(Int32sb, lambda c: 22 + len(c.body) + len(c.properties)),
    "magic" / Int32sb,
    "body_crc" / Int32sb,
    "flag" / Int32sb,
    "body_length" / Rebuild(Int32sb, len_(this.body)),
    "body" / Bytes(this.body_length),
    "properties" / Prefixed(Int16sb, GreedyBytes),
)
"""One message in the body of a client's batch request."""

BATCH = GreedyRange(BATCH_ELEMENT)

QUEUE_UNIT = Struct("physical_offset" / Int64sb, "size" / Int32sb, "tags_code" / Int64sb)
"""One message in a consume queue; the unit's number is the message's queue offset."""

BATCH_QUEUE_UNIT = Struct(
    "physical_offset" / Int64sb,
    "size" / Int32sb,
    "tags_code" / Int64sb,
    "store_timestamp" / Int64sb,
    "base_offset" / Int64sb,
    "messages" / Int16sb,
    "compact_offset" / Int32sb,
    "reserved" / Int32sb,
)
"""One record in a batch consume queue: `messages` messages with the queue offsets from `base_offset` on."""

EXT_UNIT = Struct(
    "size" / Rebuild(Int16sb, lambda c: 20 + len(c.bitmap)),
    "tags_code" / Int64sb,
    "store_timestamp" / Int64sb,
    "bitmap" / Prefixed(Int16sb, GreedyBytes),
)
"""Tags and filter bits of one message in consume queue ext; a queue unit's tags code points to it."""

INDEX_HEADER = Struct(
    "begin_timestamp" / Int64sb,
    "end_timestamp" / Int64sb,
    "begin_physical_offset" / Int64sb,
    "end_physical_offset" / Int64sb,
    "used_slots" / Int32sb,
    "next_entry" / Int32sb,
)

INDEX_ENTRY = Struct(
    "key_hash" / Int32sb,
    "physical_offset" / Int64sb,
    "seconds" / Int32sb,
    "previous_entry" / Int32sb,
)


def index_file(slots: int, entries: int) -> Struct:
    """Return the format of an index file with so many slots and entries.

    RocketMQ's has 5,000,000 and 20,000,000.
    """
    return Struct(
        "header" / INDEX_HEADER,
        "slots" / Array(slots, Int32sb),
        "entries" / Array(entries, INDEX_ENTRY),
        "size" / Computed(40 + 4 * slots + 20 * entries),
    )


CHECKPOINT = Struct(
    "physic_msg_timestamp" / Int64sb,
    "logics_msg_timestamp" / Int64sb,
    "index_msg_timestamp" / Int64sb,
    "master_flushed_offset" / Int64sb,
    "confirm_physical_offset" / Int64sb,
    "logics_physical_offset" / Int64sb,
    Padding(4096 - 48),
)
"""The file `checkpoint`: the data known to be on stable storage."""
