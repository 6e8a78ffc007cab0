"""The object with the tables of a broker at one moment: topics, groups, offsets, settings.

    magic "MQGTTAB" and version 1 (8 bytes), SHA-256 of all that follows, JSON compressed by zlib

The log has messages only. A broker that is restored from the tier gets everything else from here.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.upkeep.manifest import Shapes

TABLES_MAGIC: Final = b"MQGTTAB\x01"
_DIGEST_SIZE: Final = 32
_HEAD_SIZE: Final = len(TABLES_MAGIC) + _DIGEST_SIZE
_SIZE_MAX: Final = 1 << 30


class TierTables(NamedTuple):
    """Tables of a store, and its shape.

    `made` is the time in ms at which they were read, `log_file_size` the bytes of a file of the log, `shapes`
    the lengths of its other files. `ends` are the next queue offsets by kind of queue, topic and queue id.
    `files` are the contents of tables by their paths below the store.
    """

    store: str
    made: int
    log_file_size: int
    shapes: Shapes
    ends: Mapping[str, Mapping[str, Mapping[str, int]]]
    files: Mapping[str, bytes]

    def encode(self) -> bytes:
        """Return the bytes of the object."""
        # Latin-1 has a character for each byte, and journals of tables are not text.
        files = {path: data.decode("latin-1") for path, data in self.files.items()}
        content = zlib.compress(orjson.dumps({**self._asdict(), "files": files}))
        return TABLES_MAGIC + hashlib.sha256(content).digest() + content


def decode_tables(data: bytes, name: str) -> TierTables:
    """Parse an object with tables. Raises `CorruptFile` with the object's name."""
    content = data[_HEAD_SIZE:]
    if not data.startswith(TABLES_MAGIC[:-1]) or len(data) <= _HEAD_SIZE:
        raise CorruptFile(name, 0, "the object has no tables")
    if not data.startswith(TABLES_MAGIC):
        raise CorruptFile(name, 7, f"the object is of version {data[7]}, this program reads 1")
    if hashlib.sha256(content).digest() != data[len(TABLES_MAGIC) : _HEAD_SIZE]:
        raise CorruptFile(name, 8, "the object does not match its digest")
    try:
        text = zlib.decompressobj().decompress(content, _SIZE_MAX)
        found: dict[str, Any] = orjson.loads(text)
        shapes = Shapes(**found.pop("shapes"))
        files = {_checked(path): text.encode("latin-1") for path, text in found.pop("files").items()}
        return TierTables(shapes=shapes, files=files, **found)
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(name, _HEAD_SIZE, f"the object has no tables: {error!r}") from None


def _checked(path: str) -> str:
    """Return the path of a table. Raises `ValueError` for one that leads out of the folder of tables."""
    folder, _, name = path.partition("/")
    if folder != "config" or not name or "/" in name or name.startswith("."):
        raise ValueError(f"{path!r} is not the path of a table")
    return path
