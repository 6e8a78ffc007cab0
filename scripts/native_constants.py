#!/usr/bin/env python3
"""Make `engine/native_constants.h` from the modules that name the constants of messages and records.

    PYTHONPATH=. .venv/bin/python scripts/native_constants.py

The functions in C and their forms in Python have to agree on these. A test fails while the file is not what
this writes.
"""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from mqgateway.engine import message
from mqgateway.engine.message import SysFlag
from mqgateway.engine.record_batches import batches, crc32c, mapping, reader, snappy
from mqgateway.engine.store import client_elements, consume_queue, expansion, index_file, record, runs
from mqgateway.engine.tier import rows
from mqgateway.engine.unique_keys import UNIQUE_KEY_LENGTHS
from mqgateway.gateway.kafka.codec import plain, produce

HEADER = Path(__file__).resolve().parents[1] / "engine" / "native_constants.h"

NAMED: tuple[tuple[ModuleType | type, str, tuple[str, ...]], ...] = (
    (
        message,
        "",
        (
            "NAME_VALUE_SEPARATOR",
            "PROPERTY_SEPARATOR",
            "PROPERTY_CRC32",
            "PROPERTY_INNER_BASE",
            "PROPERTY_KAFKA_KEY",
            "PROPERTY_KAFKA_NULL",
            "PROPERTY_KAFKA_PRODUCER",
            "PROPERTY_KEYS",
            "PROPERTY_TAGS",
            "PROPERTY_UNIQ_KEY",
            "PROPERTY_WAIT_STORE_MSG_OK",
            "SCHEDULE_TOPIC",
        ),
    ),
    (message, "MESSAGE_", ("KAFKA_PREFIX", "KEY_SEPARATOR", "SYSTEM_PROPERTIES")),
    (
        SysFlag,
        "SYS_",
        (
            "COMPRESSED",
            "TRANSACTION_MASK",
            "BORN_HOST_V6",
            "STORE_HOST_V6",
            "NEED_UNWRAP",
            "INNER_BATCH",
        ),
    ),
    (
        record,
        "RECORD_",
        (
            "MAGIC",
            "MAGIC_V2",
            "HEAD_SIZE",
            "TOPIC_LENGTH_MAX_V1",
            "PROPERTIES_LENGTH_MAX",
            "CRC_SIZE",
        ),
    ),
    (client_elements, "RECORD_", ("ELEMENT_SIZE_MIN",)),
    (consume_queue, "QUEUE_", ("UNIT_SIZE",)),
    (index_file, "INDEX_", ("HEADER_SIZE", "ENTRY_SIZE", "SECONDS_MAX")),
    (runs, "RUN_", ("RECORDS_MAX", "QUEUES_MAX")),
    (rows, "ROW_", ("HASHES_MAX",)),
    (reader, "BATCH_", ("ELEMENTS_MAX",)),
    (batches, "BATCH_", ("HEADER_SIZE", "MAGIC", "LENGTH_AT", "MAGIC_AT", "CRC_AT", "CRC_START")),
    (produce, "PRODUCE_", ("FLEXIBLE_SINCE", "TOPIC_ID_SINCE")),
    (plain, "PRODUCE_", ("UUID_SIZE",)),
    (mapping, "MAPPING_", ("KEYS_SIZE_MAX", "SURELY_FITS")),
    (expansion, "EXPANSION_", ("MESSAGE_MAX", "HEADERS_MAX", "RECORD_WORK")),
    (crc32c, "CRC_", ("POLYNOMIAL",)),
    (
        snappy,
        "SNAPPY_",
        (
            "BLOCK_MAX",
            "MATCH_MIN",
            "COPY_MAX",
            "LITERAL_INLINE_MAX",
            "HASH_BITS",
            "HASH_FACTOR",
            "SKIP_SHIFT",
        ),
    ),
)
"""Modules of the constants, the prefix of their names in C, and their names."""


def literal(value: int | str | frozenset[str]) -> str:
    """The value in C: a number of 32 bits, a string, or the elements of an array of strings in order."""
    if isinstance(value, frozenset):
        return ", ".join(map(literal, sorted(value)))
    if isinstance(value, str):
        return '"' + "".join(c if c.isalnum() or c in "_#" else f"\\{ord(c):03o}" for c in value) + '"'
    return f"{value}" if value >= 0 else f"0x{value & 0xFFFFFFFF:08X}u"


def lines() -> Iterator[str]:
    """The lines of the header."""
    yield "/* Made by scripts/native_constants.py from the modules that are named here; do not edit. */"
    yield ""
    yield "#ifndef MQGATEWAY_NATIVE_CONSTANTS_H"
    yield "#define MQGATEWAY_NATIVE_CONSTANTS_H"
    for origin, prefix, names in NAMED:
        module = (
            origin.__name__ if isinstance(origin, ModuleType) else f"{origin.__module__}.{origin.__name__}"
        )
        yield ""
        yield f"/* {module.removeprefix('mqgateway.')} */"
        for name in names:
            yield f"#define {prefix}{name} {literal(getattr(origin, name))}"
            if name.endswith("_SEPARATOR"):
                yield f"#define {prefix}{name}_BYTE {ord(getattr(origin, name))}"
    shortest, longest = sorted(UNIQUE_KEY_LENGTHS)
    yield ""
    yield "/* engine.unique_keys.UNIQUE_KEY_LENGTHS */"
    yield f"#define UNIQUE_KEY_LENGTH {shortest}"
    yield f"#define UNIQUE_KEY_LENGTH_V6 {longest}"
    yield ""
    yield "#endif"


def text() -> str:
    """The whole header."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    HEADER.write_text(text())
    print(HEADER)
