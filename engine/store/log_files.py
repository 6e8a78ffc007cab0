"""Check that all files of the log exist, before a start changes anything.

Retention deletes files from the log's beginning in order, and a new file is created only when the name of the
one before it is durable (`CommitLog`). So a log never has a gap, and none of its files ends before the
positions that the checkpoint and the consume queues contain. Otherwise a file was lost, with its records. The
start is then refused, so that the file can be restored. With startWithMissingLogFiles an empty file replaces
it instead, and the other files are served. Nothing is removed. RocketMQ ignores a missing file, or does not
start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.file_queue import FileQueue, file_name
from mqgateway.engine.store.record import blank
from mqgateway.engine.store.unit_queue import PLACE

log = logging.getLogger(__name__)

_NAMES_MAX = 5


class MissingLogFiles(CorruptFile):
    """Files of the log are missing, as others show; `starts` are their start offsets."""

    def __init__(self, files: FileQueue, starts: list[int], sign: str) -> None:
        self.starts = starts
        names = ", ".join(f"{files.directory}/{file_name(start)}" for start in starts[:_NAMES_MAX])
        more = f" and {len(starts) - _NAMES_MAX} more" if len(starts) > _NAMES_MAX else ""
        begin, end = starts[0], starts[-1] + files.file_size
        what = (
            f"{names}{more} {'is' if len(starts) == 1 else 'are'} missing: {sign}. What was between {begin} "
            f"and {end} of the log cannot be read; nothing was changed. `mqgateway store check` says what "
            "else is damaged. Restore the file from a copy or a replica, or set startWithMissingLogFiles="
            "true to go on without it"
        )
        super().__init__(f"{files.directory}/{file_name(starts[0])}", 0, what)

    def __str__(self) -> str:
        return self.what


def look_for_lost(files: FileQueue, known: Callable[[], int], checkpoint: int, repair: bool) -> None:
    """Raise `MissingLogFiles` if files were lost; nothing is changed. Raises `CorruptFile` and `OSError` too.

    `known` returns the newest log offset in derived files. `checkpoint` is the offset of a durable record;
    `repair` is True after an unclean stop.
    """
    starts = files.examine(repair)
    missing = files.missing(starts)
    if missing:
        following = next(start for start in starts if start > missing[0])
        raise MissingLogFiles(files, missing, f"{file_name(following)} is the next file")
    end = starts[-1] + files.file_size if starts else 0
    # A damaged checkpoint could show so too, but no queue would. After a power cut, 0 proves nothing.
    if checkpoint >= max(end, int(repair)) and (newest := known()) >= end:
        last = files.start_of(newest)
        sign = f"consume queues know records up to {newest}"
        raise MissingLogFiles(files, list(range(end if starts else last, last + 1, files.file_size)), sign)


def newest_place(queues: ConsumeQueues) -> int:
    """Return the greatest log offset in the consume queues on disk; -1 if there is none."""
    return max(_last_places(queues), default=-1)


def _last_places(queues: ConsumeQueues) -> Iterator[int]:
    disk = queues.pool.disk
    for topic, queue_id, is_batch in queues.folders():
        folder = f"{queues.batch_directory if is_batch else queues.directory}/{topic}/{queue_id}"
        names = [name for name in disk.listdir(folder) if len(name) == 20 and name.isdigit()]
        for name in reversed(names):
            place = _last_place(disk, f"{folder}/{name}", queues.unit_size(is_batch))
            if place >= 0:
                yield place
                break


def _last_place(disk: Disk, path: str, unit_size: int) -> int:
    """Return the log offset in the last unit of a file, found by binary search; -1 without one."""
    file = disk.open(path)
    low, high, found = 0, file.size() // unit_size, -1
    while low < high:
        middle = (low + high) // 2
        place, size = PLACE.unpack(file.read(middle * unit_size, PLACE.size))
        if size > 0 and place >= 0:
            found, low = place, middle + 1
        else:
            high = middle
    file.close()
    return found


def fill(files: FileQueue, starts: list[int]) -> None:
    """Create a file without records for each missing one. Raises `OSError`."""
    for start in starts:
        path = f"{files.directory}/{file_name(start)}"
        file = files.disk.open(path, create=True)
        file.truncate(files.file_size)
        file.write(0, blank(files.file_size))
        file.sync()
        file.close()
        files.disk.sync_dir(files.directory)
        log.error("%s was missing: it is replaced by an empty file and its messages are skipped", path)
