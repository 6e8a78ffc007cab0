"""Dump of a store file or captured frames through the formats' own definitions.

The kind of a file follows from its path, by RocketMQ's folder names, or is given as `kind`. Reading
stops at the first bytes that are not an entry. The last line then states the position and the reason,
so that a torn file is shown up to the tear. A truncated file is read like a whole one.
"""

import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import orjson
from construct import ConstructError, Container

from mqgateway.engine import lenient_json
from mqgateway.engine.message import format_host, parse_properties
from mqgateway.engine.raft.files import entry as entries
from mqgateway.engine.raft.files import schema as entry_schema
from mqgateway.engine.store import schema
from mqgateway.engine.timers import schema as timers
from mqgateway.gateway.cli.plain import escaped, escaped_json
from mqgateway.gateway.codec.command import decode_command
from mqgateway.gateway.codec.errors import ProtocolError

FRAME_MAX = 16 * 1024 * 1024
INDEX_SLOTS = 5_000_000

Entry = dict[str, Any]


class DumpError(Exception):
    """The kind of the file is unknown, or the file cannot be read."""


def kind_of(path: str) -> str:
    """Return the kind of a file by its path. Raises `DumpError` if the path does not imply it."""
    name = os.path.basename(path)
    folders = os.path.abspath(path).split(os.sep)[:-1]
    name = name.removesuffix(".bak")
    if any(folder.startswith("dledger-") for folder in folders[-2:]):
        return IN_LEDGER.get(folders[-1], "text")
    if name in BY_NAME:
        return BY_NAME[name]
    if name.endswith(".json"):
        return "table"
    # Below a folder of queues are topic and queue id, and a topic may have the name of any folder.
    for folder in (*folders[-3:-2], *reversed(folders)):
        if folder in BY_FOLDER:
            return BY_FOLDER[folder]
    raise DumpError(f"{path}: the path does not imply the kind of the file; use --kind ({', '.join(KINDS)})")


def dump_file(path: str, kind: str | None, offset: int, limit: int, output: str) -> Iterator[str]:
    """Yield the file's entries from byte `offset`, one a line: `at key=value ...` or JSON.

    At most `limit` entries. Raises `DumpError` for an unknown kind or an unreadable file.
    """
    chosen = kind or kind_of(path)
    if chosen not in KINDS:
        raise DumpError(f"unknown kind {chosen!r}; valid kinds are {', '.join(KINDS)}")
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            for number, entry in enumerate(KINDS[chosen](file)):
                if number == limit:
                    place = f"continue with --offset {entry['at']}" if entry["at"] else "use a higher --limit"
                    yield f"... more; {place}"
                    return
                yield _line(entry, output)
    except OSError as error:
        raise DumpError(f"{path} cannot be read: {error}") from None


def _line(entry: Entry, output: str) -> str:
    if output == "json":
        return escaped_json(_json(entry))
    fields = dict(entry)
    at = fields.pop("at")
    return f"{at:>12}  " + escaped(" ".join(f"{name}={_text(value)}" for name, value in fields.items()))


def _text(value: Any) -> str:
    return _json(value) if isinstance(value, dict | list) else str(_shown(value))


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_shown, option=orjson.OPT_NON_STR_KEYS).decode()


def _shown(value: Any) -> Any:
    """Return printable bytes as text, other bytes as hex, other values unchanged."""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return text if text.isprintable() else value.hex()
    return value


def _plain(parsed: Container) -> Entry:
    return {name: value for name, value in parsed.items() if not name.startswith("_")}


def commit_log(file: BinaryIO) -> Iterator[Entry]:
    """Yield the records and the blank at a file's end."""
    return _until_blank(file, _head, _record)


def _head(raw: bytes) -> tuple[int, bool]:
    size, magic = struct.unpack(">iI", raw)
    return size, magic == schema.MAGIC_BLANK


def _until_blank(
    file: BinaryIO, head: Callable[[bytes], tuple[int, bool]], read: Callable[[bytes], Entry]
) -> Iterator[Entry]:
    """Yield each frame as parsed by `read`, and the blank at a file's end.

    `head` returns the size of a frame from its first eight bytes, and True for the blank.
    """
    while True:
        at = file.tell()
        raw = file.read(8)
        if len(raw) < 8:
            return
        size, is_blank = head(raw)
        if size <= 0:
            return
        if is_blank:
            yield {"at": at, "blank": size}
            return
        try:
            yield {"at": at, **read(raw + file.read(min(size, FRAME_MAX) - 8))}
        except ConstructError as error:
            yield {"at": at, "unreadable": _reason(error)}
            return


def _record(raw: bytes) -> Entry:
    """Return a record's fields, with hosts, topic and properties as text. Raises `ConstructError`."""
    entry = _plain(schema.RECORD.parse(raw))
    entry["magic"] = f"{entry['magic']:#x}"
    for host in ("born_host", "store_host"):
        entry[host] = format_host(entry[host])
    entry["topic"] = entry["topic"].decode("utf-8", "replace")
    entry["properties"] = parse_properties(entry["properties"].decode("utf-8", "replace"))
    return entry


def ledger(file: BinaryIO) -> Iterator[Entry]:
    """Yield the entries of a DLedger member, each with its record, and the blank at a file's end."""
    return _until_blank(file, _ledger_head, _ledger_entry)


def _ledger_head(raw: bytes) -> tuple[int, bool]:
    magic, size = struct.unpack(">ii", raw)
    return size, magic == entries.BLANK_MAGIC


def _ledger_entry(raw: bytes) -> Entry:
    """Return an entry's fields, with the record's if the body is a record. Raises `ConstructError`."""
    entry = _plain(entry_schema.ENTRY.parse(raw))
    body = entry.pop("body")
    try:
        return {**entry, "record": _record(body)}
    except ConstructError:
        return {**entry, "body": body}


def ledger_index(file: BinaryIO) -> Iterator[Entry]:
    """Yield the units of a DLedger member's index, up to the first empty one."""
    size = entries.INDEX_UNIT_SIZE
    while len(raw := file.read(size)) == size and any(raw):
        try:
            yield {"at": file.tell() - size, **_plain(entry_schema.INDEX_UNIT.parse(raw))}
        except ConstructError as error:
            yield {"at": file.tell() - size, "unreadable": _reason(error)}
            return


def _reason(error: ConstructError) -> str:
    return str(error).strip().splitlines()[-1]


def consume_queue(file: BinaryIO) -> Iterator[Entry]:
    """Yield the units, up to the first empty one."""
    while len(raw := file.read(20)) == 20:
        entry = _plain(schema.QUEUE_UNIT.parse(raw))
        if entry["size"] == 0:
            return
        yield {"at": file.tell() - 20, **entry}


def batch_queue(file: BinaryIO) -> Iterator[Entry]:
    """Yield the units, up to the first empty one."""
    while len(raw := file.read(46)) == 46:
        entry = _plain(schema.BATCH_QUEUE_UNIT.parse(raw))
        if entry["size"] == 0:
            return
        yield {"at": file.tell() - 46, **entry}


def ext(file: BinaryIO) -> Iterator[Entry]:
    """Yield the units, up to the end marker or the first empty one."""
    while True:
        at = file.tell()
        size = int.from_bytes(raw := file.read(2), "big", signed=True)
        if size <= 0:
            return
        try:
            entry = _plain(schema.EXT_UNIT.parse(raw + file.read(size - 2)))
        except ConstructError as error:
            yield {"at": at, "unreadable": _reason(error)}
            return
        yield {"at": at, **entry, "bitmap": entry["bitmap"].hex()}


def timer_wheel(file: BinaryIO) -> Iterator[Entry]:
    """Yield the slots that are not all zeros."""
    size = timers.SLOT.sizeof()
    while chunk := file.read(size * 4096):
        start = file.tell() - len(chunk)
        if chunk.count(0) == len(chunk):
            continue
        for at in range(0, len(chunk) - size + 1, size):
            raw = chunk[at : at + size]
            if raw.count(0) != size:
                yield {"at": start + at, **_plain(timers.SLOT.parse(raw))}


def timer_log(file: BinaryIO) -> Iterator[Entry]:
    """Yield the units and the blank at the end of a full file."""
    size = timers.UNIT.sizeof()
    while True:
        at = file.tell()
        raw = file.read(size)
        try:
            if raw[12:16] == timers.MAGIC_BLANK.to_bytes(4, "big"):
                yield {"at": at, "blank": timers.TAIL.parse(raw)["remaining"]}
                return
            if not raw.strip(b"\0"):
                return
            yield {"at": at, **_plain(timers.UNIT.parse(raw))}
        except ConstructError as error:
            yield {"at": at, "unreadable": _reason(error)}
            return


def timer_checkpoint(file: BinaryIO) -> Iterator[Entry]:
    """Yield RocketMQ's fields, then mqgateway's own if present."""
    raw = file.read(4096)
    try:
        yield {"at": 0, **_plain(timers.CHECKPOINT.parse(raw))}
    except ConstructError as error:
        yield {"at": 0, "unreadable": _reason(error)}
        return
    try:
        own = _plain(timers.OWN.parse(raw[timers.CHECKPOINT.sizeof() :]))
    except ConstructError:
        return
    yield {"at": timers.CHECKPOINT.sizeof(), **own}


def index(file: BinaryIO) -> Iterator[Entry]:
    """Yield the header, then the entries in the order in which they were added."""
    at = file.tell()
    file.seek(0)
    try:
        header = _plain(schema.INDEX_HEADER.parse(file.read(40)))
    except ConstructError as error:
        yield {"at": 0, "unreadable": _reason(error)}
        return
    first_entry = 40 + 4 * _slots(file.seek(0, os.SEEK_END))
    if at < first_entry:
        yield {"at": 0, **header}
        at = first_entry + 20  # entry 0 is never used
    file.seek(at)
    while (at - first_entry) // 20 < header["next_entry"] and len(raw := file.read(20)) == 20:
        yield {"at": at, "entry": (at - first_entry) // 20, **_plain(schema.INDEX_ENTRY.parse(raw))}
        at += 20


def _slots(size: int) -> int:
    """Return the number of hash slots of an index file of `size` bytes; as in RocketMQ, 4 entries a slot."""
    slots, rest = divmod(size - 40, 4 + 4 * 20)
    return INDEX_SLOTS if rest else slots


def checkpoint(file: BinaryIO) -> Iterator[Entry]:
    """Yield the only entry of a checkpoint."""
    try:
        yield {"at": 0, **_plain(schema.CHECKPOINT.parse(file.read(4096)))}
    except ConstructError as error:
        yield {"at": 0, "unreadable": _reason(error)}


def frames(file: BinaryIO) -> Iterator[Entry]:
    """Yield captured remoting frames, one after another."""
    while True:
        at = file.tell()
        word = file.read(4)
        if len(word) < 4:
            return
        length = int.from_bytes(word, "big", signed=True)
        if not 0 < length <= FRAME_MAX:
            yield {"at": at, "unreadable": f"a frame cannot have {length} bytes"}
            return
        try:
            command = decode_command(file.read(length))
        except ProtocolError as error:
            yield {"at": at, "unreadable": str(error)}
            return
        names = ("code", "language", "version", "opaque", "flag", "remark", "ext_fields", "body")
        yield {"at": at, **{name: getattr(command, name) for name in names}}


def table(file: BinaryIO) -> Iterator[Entry]:
    """Yield the top-level members of a JSON table."""
    try:
        value = lenient_json.loads(file.read().decode("utf-8", "replace"))
    except ValueError as error:
        yield {"at": 0, "unreadable": str(error)}
        return
    for name, member in value.items() if isinstance(value, dict) else [("value", value)]:
        yield {"at": 0, str(name): member}


def text(file: BinaryIO) -> Iterator[Entry]:
    """Yield the lines of a small text file."""
    for number, line in enumerate(file.read().decode("utf-8", "replace").splitlines()):
        yield {"at": number, "line": line}


KINDS: dict[str, Callable[[BinaryIO], Iterator[Entry]]] = {
    "commitlog": commit_log,
    "dledger": ledger,
    "dledgerindex": ledger_index,
    "consumequeue": consume_queue,
    "batchconsumequeue": batch_queue,
    "consumequeue_ext": ext,
    "index": index,
    "checkpoint": checkpoint,
    "table": table,
    "timerwheel": timer_wheel,
    "timerlog": timer_log,
    "timercheck": timer_checkpoint,
    "text": text,
    "frame": frames,
}
"""Reader of each kind of file; it starts at the current position of the file."""

BY_NAME = {
    "checkpoint": "checkpoint",
    "timerwheel": "timerwheel",
    "timercheck": "timercheck",
    "timermetrics": "table",
    "transactionMetrics": "table",
    "abort": "text",
    "lock": "text",
    "brokerIdentity": "text",
}
"""Files with a fixed name, and their kind."""

IN_LEDGER = {"data": "dledger", "index": "dledgerindex"}
"""Folders of a DLedger member, `dledger-ID`, and the kind of their files; its other files are texts."""

BY_FOLDER = {
    **{name: name for name in KINDS if name not in ("table", "text", "frame", "checkpoint", "dledger")},
    "compactionLog": "commitlog",
    "compactionCq": "batchconsumequeue",
}
"""Folders above a file that imply its kind; the nearest one decides."""
