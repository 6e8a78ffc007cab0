"""The files of a DLedger member, written down in construct: data and index.

This is the specification to read, and the oracle that the fast paths (`entry.py`) are tested against. All
integers are big-endian. RocketMQ: `DLedgerEntryCoder`, `MmapFileList`, `DLedgerMmapFileStore`.
"""

from construct import Bytes, Const, Int32sb, Int64sb, Rebuild, Struct, len_, this

ENTRY = Struct(
    "magic" / Const(1, Int32sb),
    "size" / Rebuild(Int32sb, lambda c: 48 + len(c.body)),  # of the whole entry
    "index" / Int64sb,
    "term" / Int64sb,
    "position" / Int64sb,  # of the entry's first byte in the log
    "channel" / Int32sb,  # these three are 0, and not read
    "chain_crc" / Int32sb,
    "body_crc" / Int32sb,
    "body_size" / Rebuild(Int32sb, len_(this.body)),
    "body" / Bytes(this.body_size),
)
"""One entry in `data/`. A broker's body is a record of a commit log, whose physical offset is its own
position, 48 bytes after that of the entry.
"""

BLANK = Struct("magic" / Const(-1, Int32sb), "size" / Int32sb)
"""The end of a data file that has `size` bytes left; zeros follow."""

INDEX_UNIT = Struct(
    "magic" / Const(1, Int32sb),
    "position" / Int64sb,
    "size" / Int32sb,
    "index" / Int64sb,
    "term" / Int64sb,
)
"""One entry in `index/`, at 32 bytes times its index from the beginning; there are no blanks."""
