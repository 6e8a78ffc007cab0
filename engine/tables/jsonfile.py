"""Tables kept as JSON files that a power cut cannot spoil.

A table is written aside (`.tmp`) and synced, the file before it becomes `.bak`, the new one takes its
name, and the directory is synced. So at every moment at least one of the two names holds a whole
table. Reading takes the file, or `.bak` where the file is missing, empty or no table; a file that
cannot be read is set aside as `.broken` (`.broken-2` ...), so that the next write does not make it the
backup. Where neither can be read a broker goes on without what they held, and says so (`TableFile.load`).

Standard: `ConfigManager`, whose files these are, and `MixAll.string2File`.
"""

import logging
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import JsonError, Prepared, dumps, loads
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

Table = dict[Any, Any]
T = TypeVar("T")
Make = Callable[[], bytes | Iterable[bytes]]
"""Makes a table's text, in one or in pieces."""

MEMBERS_A_PIECE = 64

BROKEN = ".broken"
_MEANINGS = {
    "topics.json": "Topics that have messages come back with their queues; other topics, permissions and "
    "attributes must be set again",
    "subscriptionGroup.json": "Groups come back as their members connect; their settings must be made again",
    "consumerOffset.json": "Groups begin anew where their consumers say: messages may come again, or be "
    "left out",
    "lmqConsumerOffset.json": "Groups of light queues begin anew, where their consumers say",
    "delayOffset.json": "Delayed messages that are still in the log are delivered again",
    "consumerFilter.json": "Filters come back as the members of their groups connect",
    "consumerOrderInfo.json": "Messages popped in order and not acknowledged come again",
    "topicQueueMapping.json": "Static topics must be given their mapping again",
    "users.json": "Nobody is let in but the users that settings name; others must be created again",
    "acls.json": "Only super users may do anything, until policies are created again",
    "kvConfig.json": "Values must be put again, among them which topics are ordered",
    "messageRequestMode.json": "Groups consume in the default mode until it is set again",
}
"""What it means that a table begins empty, for those who read the log."""


def load_table(disk: Disk, path: str) -> Table | None:
    """Read a table; None when there is neither the file nor its backup.

    Raises `ConfigError` when something is there but no whole table: to go on with an empty one would
    lose what was kept.
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
    """Give a file that cannot be read a name that says so, and that no file has; returns it. Raises
    `OSError`."""
    number, name = 1, path + BROKEN
    while disk.exists(name):
        number += 1
        name = f"{path}{BROKEN}-{number}"
    disk.rename(path, name)
    return name


def _is_read(disk: Disk, path: str) -> bool:
    """Whether a file can be read, whatever is in it."""
    try:
        disk.read_bytes(path)
    except OSError:
        return False
    return True


def save_table(disk: Disk, path: str, table: Table) -> None:
    """Write a table so that it, or the one before it, is there after a crash. Raises `OSError`."""
    write_table(disk, path, dumps(table, indent=True))


def write_table(disk: Disk, path: str, text: bytes) -> None:
    """As `save_table`, for a table that is text already."""
    write_aside(disk, path, [text])
    put_in_place(disk, path)


def write_aside(disk: Disk, path: str, pieces: Iterable[bytes]) -> tuple[int, int]:
    """Write a table beside its file, and sync it; gives its length and CRC-32. Raises `OSError`."""
    make_directories(disk, os.path.dirname(path))
    file = disk.open(path + ".tmp", create=True)
    size = crc = 0
    try:
        file.truncate(0)
        for piece in pieces:
            file.write(size, piece)
            size += len(piece)
            crc = zlib.crc32(piece, crc)
        file.sync()
    finally:
        file.close()
    return size, crc


def put_in_place(disk: Disk, path: str) -> None:
    """Let what was written beside take the file's place, which becomes the backup. Raises `OSError`."""
    if disk.exists(path):
        disk.rename(path, path + ".bak")
    take_place(disk, path)


def take_place(disk: Disk, path: str) -> None:
    """Let what was written beside take the file's place, and keep none before it. Raises `OSError`."""
    disk.rename(path + ".tmp", path)
    disk.sync_dir(os.path.dirname(path))


def in_pieces(table: Mapping[str, Any]) -> Iterator[bytes]:
    """A table's text as `dumps` with `indent` makes it, in pieces of some members each: for a thread that
    others are not to wait for. What is long has no members that are None.
    """
    opening = "{"
    for name in sorted(name for name, value in table.items() if value is not None):
        value = table[name]
        yield f"{opening}\n\t{_text(name)}:".encode()
        opening = ","
        if not isinstance(value, Mapping) or len(value) <= MEMBERS_A_PIECE:
            yield _text(value).replace("\n", "\n\t").encode("utf-8", "replace")
            continue
        names, begin = sorted(value), "{"
        for at in range(0, len(names), MEMBERS_A_PIECE):
            piece = _text({each: value[each] for each in names[at : at + MEMBERS_A_PIECE]})
            yield (begin + piece[1:-2].replace("\n", "\n\t")).encode("utf-8", "replace")
            begin = ","
        yield b"\n\t}"
    yield b"{}" if opening == "{" else b"\n}"


def _text(value: Any) -> str:
    return dumps(value, indent=True).decode("utf-8")


def load_or_set_aside(disk: Disk, path: str) -> tuple[Table | None, bool]:
    """As `load_table`; but files of which neither holds a table are set aside, and there is none. Also gives
    whether that, or what is given, is not what was written last.

    Raises `ConfigError` when a file is there and the disk does not give it.
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


class Texts(Generic[T]):
    """The entries of a table as text, each made where it is first written, and kept until it is another."""

    def __init__(self, shape: Callable[[str, T], Any]) -> None:
        self._shape = shape
        self._made: dict[str, tuple[T, Prepared]] = {}

    def of(self, table: Mapping[str, T]) -> Mapping[str, Prepared]:
        """The texts of a table as it is now, which may be gone through elsewhere."""
        return _Entries(dict(table), self)

    def text(self, name: str, entry: T) -> Prepared:
        """The text of one entry."""
        made = self._made.get(name)
        if made is None or made[0] is not entry:
            made = self._made[name] = (entry, Prepared(dumps(self._shape(name, entry), indent=True)))
        return made[1]

    def forget(self, name: str) -> None:
        """Keep nothing of an entry that is gone, or of which something else has changed."""
        self._made.pop(name, None)


class _Entries(Mapping[str, Prepared], Generic[T]):
    def __init__(self, table: dict[str, T], texts: Texts[T]) -> None:
        self._table = table
        self._texts = texts

    def __getitem__(self, name: str) -> Prepared:
        return self._texts.text(name, self._table[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class TableFile:
    """The file of one table: writes the newest state, one write at a time, and outlives a full disk.

    With a worker the write happens there; what changes meanwhile is written when it is done.
    """

    def __init__(self, disk: Disk, path: str, worker: Worker | None = None) -> None:
        self._disk = disk
        self._worker = worker
        self._is_writing = False
        self._next: Make | None = None
        self._is_failing = False
        self.path = path
        self.has_failed = False
        """Whether the newest state could not be written; it should be tried again."""
        self.was_lost = False
        """Whether `load` could not give what was written last, but something older or nothing."""

    def load(self) -> Table | None:
        """As `load_or_set_aside`."""
        table, self.was_lost = load_or_set_aside(self._disk, self.path)
        return table

    def save(self, make_text: Make, *, inline: bool = False) -> None:
        """Write what `make_text` gives, now or after the write that is under way; a failure is logged.

        Pieces are gone through where it is written: they are made of a copy.
        `inline` writes here even if there is a worker: at the end, when that works no more.
        """
        if self._is_writing and not inline:
            self._next = make_text
            return
        text = make_text()
        pieces = [text] if isinstance(text, bytes) else text
        self.has_failed = False
        self._is_writing = True

        def work() -> None:
            write_aside(self._disk, self.path, pieces)
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
