"""Tables in JSON files that survive a power cut.

A table is written to a temporary file (`.tmp`) and synced, the file before it is renamed to `.bak`, the new
one to its name, and the directory is synced. So at every moment at least one of the two names has a complete
table. Reading uses the file, or `.bak` if the file is missing, empty or not a table. An unreadable file is
renamed to `.broken` (`.broken-2` ...), so that the next write does not make it the backup. If neither can be
read a broker continues without their content, and logs that (`TableFile.load`). RocketMQ: `ConfigManager`,
whose files these are, and `MixAll.string2File`.
"""

import logging
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import JsonError, PreparedText, dumps, loads
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

Table = dict[Any, Any]
T = TypeVar("T")
Make = Callable[[], bytes | Iterable[bytes]]
"""Returns a table's text, in one or in chunks."""

MEMBERS_PER_CHUNK = 64

BROKEN = ".broken"
_MEANINGS = {
    "topics.json": "Topics that have messages come back with their queues; other topics, permissions and "
    "attributes must be set again",
    "subscriptionGroup.json": "Groups come back as their members connect; their settings must be made again",
    "consumerOffset.json": "Groups begin again where their consumers say: messages may come again, or be "
    "left out",
    "lmqConsumerOffset.json": "Groups of LMQ queues begin again, where their consumers say",
    "delayOffset.json": "Delayed messages that are still in the log are delivered again",
    "consumerFilter.json": "Filters come back as the members of their groups connect",
    "consumerOrderInfo.json": "Messages popped in order and not acknowledged come again",
    "topicQueueMapping.json": "Static topics must be given their mapping again",
    "users.json": "Nobody is let in but the users that settings name; others must be created again",
    "acls.json": "Only super users may do anything, until policies are created again",
    "kvConfig.json": "Values must be put again, among them which topics are ordered",
    "kafkaClientMetrics.json": "Client-metrics resources must be created again",
    "kafkaClientQuotas.json": "Kafka clients have no quotas until these are set again",
    "kafkaPeerTopics.json": "Topics of other broker groups are unknown until these answer",
    "messageRequestMode.json": "Groups consume in the default mode until it is set again",
}
"""Consequences of an empty table, for the log."""


def load_table(disk: Disk, path: str) -> Table | None:
    """Load a table; return None if there is neither the file nor its backup.

    Raises `ConfigError` if something exists but no complete table: continuing with an empty one would lose
    data.
    """
    reasons = []
    for name in (path, path + ".bak"):
        try:
            table = _parse(disk.read_bytes(name))
        except FileNotFoundError:
            continue
        except (JsonError, OSError) as error:
            log.warning("%s cannot be read: %s", name, error)
            reasons.append(f"{name}: {error}")
            continue
        if name != path:
            log.warning("%s is missing or broken, its backup is used: %s", path, name)
            if reasons:
                set_aside(disk, path)
        return table
    if reasons:
        raise ConfigError("no usable table: " + "; ".join(reasons))
    return None


def set_aside(disk: Disk, path: str) -> str:
    """Rename an unreadable file to a free name that marks it as broken, and return that name.

    Raises `OSError`.
    """
    number, name = 1, path + BROKEN
    while disk.exists(name):
        number += 1
        name = f"{path}{BROKEN}-{number}"
    disk.rename(path, name)
    return name


def _is_read(disk: Disk, path: str) -> bool:
    """Return True if a file can be read, whatever its content."""
    try:
        disk.read_bytes(path)
    except OSError:
        return False
    return True


def save_table(disk: Disk, path: str, table: Table) -> None:
    """Write a table so that it, or the one before it, exists after a crash. Raises `OSError`."""
    write_table(disk, path, dumps(table, indent=True))


def write_table(disk: Disk, path: str, text: bytes) -> None:
    """Write a table that is text already, as `save_table`."""
    write_aside(disk, path, [text])
    put_in_place(disk, path)


def write_aside(disk: Disk, path: str, chunks: Iterable[bytes]) -> tuple[int, int]:
    """Write a table to a temporary file, and sync it; return its length and CRC-32. Raises `OSError`."""
    make_directories(disk, os.path.dirname(path))
    file = disk.open(path + ".tmp", create=True)
    size = crc = 0
    try:
        file.truncate(0)
        for chunk in chunks:
            file.write(size, chunk)
            size += len(chunk)
            crc = zlib.crc32(chunk, crc)
        file.sync()
    finally:
        file.close()
    return size, crc


def put_in_place(disk: Disk, path: str) -> None:
    """Rename the temporary file to its name, and the file before it to the backup. Raises `OSError`."""
    if disk.exists(path):
        disk.rename(path, path + ".bak")
    take_place(disk, path)


def take_place(disk: Disk, path: str) -> None:
    """Rename the temporary file to its name, without a backup. Raises `OSError`."""
    disk.rename(path + ".tmp", path)
    disk.sync_dir(os.path.dirname(path))


def in_chunks(table: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield a table's text as `dumps` with `indent` returns it, in chunks of some members each.

    For a thread that must not block others. Long objects have no members that are None.
    """
    opening = "{"
    for name in sorted(name for name, value in table.items() if value is not None):
        value = table[name]
        yield f"{opening}\n\t{_text(name)}:".encode()
        opening = ","
        if not isinstance(value, Mapping) or len(value) <= MEMBERS_PER_CHUNK:
            yield _text(value).replace("\n", "\n\t").encode("utf-8", "replace")
            continue
        names, begin = sorted(value), "{"
        for at in range(0, len(names), MEMBERS_PER_CHUNK):
            chunk = _text({each: value[each] for each in names[at : at + MEMBERS_PER_CHUNK]})
            yield (begin + chunk[1:-2].replace("\n", "\n\t")).encode("utf-8", "replace")
            begin = ","
        yield b"\n\t}"
    yield b"{}" if opening == "{" else b"\n}"


def _text(value: Any) -> str:
    return dumps(value, indent=True).decode("utf-8")


def load_or_set_aside(disk: Disk, path: str) -> tuple[Table | None, bool]:
    """Load as `load_table`, but set files aside if neither has a table, and return None then.

    The second result is True if the first is not the last written state. Raises `ConfigError` if a file
    exists and the disk does not return it.
    """
    there = [name for name in (path, path + ".bak") if disk.exists(name)]
    try:
        table = load_table(disk, path)
    except ConfigError as error:
        if not all(_is_read(disk, name) for name in there):
            raise
        aside = ", ".join(set_aside(disk, name) for name in there)
        meaning = _MEANINGS.get(os.path.basename(path), "what it held is gone")
        log.error("%s; kept as %s. %s", error, aside, meaning)
        return None, True
    return table, bool(there) and not disk.exists(path)


class EntryTexts(Generic[T]):
    """Cached texts of a table's entries, each made when it is first written, and kept until it changes."""

    def __init__(self, shape: Callable[[str, T], Any]) -> None:
        self._shape = shape
        self._made: dict[str, tuple[T, PreparedText]] = {}

    def of(self, table: Mapping[str, T]) -> Mapping[str, PreparedText]:
        """Return the texts of a snapshot of a table, which may be iterated on another thread."""
        return _Entries(dict(table), self)

    def text(self, name: str, entry: T) -> PreparedText:
        """Return the text of one entry."""
        made = self._made.get(name)
        if made is None or made[0] is not entry:
            made = self._made[name] = (entry, PreparedText(dumps(self._shape(name, entry), indent=True)))
        return made[1]

    def forget(self, name: str) -> None:
        """Drop the text of an entry that is gone, or of which something else has changed."""
        self._made.pop(name, None)


class _Entries(Mapping[str, PreparedText], Generic[T]):
    def __init__(self, table: dict[str, T], texts: EntryTexts[T]) -> None:
        self._table = table
        self._texts = texts

    def __getitem__(self, name: str) -> PreparedText:
        return self._texts.text(name, self._table[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class TableFile:
    """The file of one table: writes the newest state, one write at a time, and survives a full disk.

    With a worker the write happens there; changes meanwhile are written after it.
    """

    def __init__(self, disk: Disk, path: str, worker: Worker | None = None) -> None:
        self._disk = disk
        self._worker = worker
        self._is_writing = False
        self._next: Make | None = None
        self._is_failing = False
        self.path = path
        self.has_failed = False
        """True if the newest state could not be written; it should be retried."""
        self.was_lost = False
        """True if `load` could not return the last written state, but an older one or none."""

    def load(self) -> Table | None:
        """Load as `load_or_set_aside`."""
        table, self.was_lost = load_or_set_aside(self._disk, self.path)
        return table

    def save(self, make_text: Make, *, inline: bool = False) -> None:
        """Write the text of `make_text`, now or after the write in progress; a failure is logged.

        Chunks are iterated where they are written: they are made from a copy. `inline` writes synchronously
        even with a worker: at the end, when that has stopped.
        """
        if self._is_writing and not inline:
            self._next = make_text
            return
        text = make_text()
        chunks = [text] if isinstance(text, bytes) else text
        self.has_failed = False
        self._is_writing = True

        def work() -> None:
            write_aside(self._disk, self.path, chunks)
            put_in_place(self._disk, self.path)

        if self._worker is not None and not inline:
            self._worker.run(work, self._done)
            return
        try:
            work()
        except OSError as error:
            self._done(error)
        else:
            self._done(None)

    def _done(self, outcome: Exception | None) -> None:
        self._is_writing = False
        if outcome is not None:
            if not self._is_failing:
                log.error("%s could not be written: %s; will retry", self.path, outcome)
            self.has_failed = self._is_failing = True
        elif self._is_failing:
            self._is_failing = False
            log.info("%s is written again", self.path)
        if self._next is not None:
            make_text, self._next = self._next, None
            self.save(make_text)


def _parse(text: bytes) -> Table:
    table = loads(text)
    if not isinstance(table, dict):
        raise JsonError("no object", 0)
    return table
