"""Whether the log's files are all there, found out before a start changes anything.

Retention takes files from the log's beginning, one after another, and each new one is made when the name of
the one before it is durable (`CommitLog`): so whatever happened, a log has no gap, and none of its files ends
before what the checkpoint and the consume queues know. Where it is otherwise a file was lost, with the
records in it. Then the start is refused, so that it can be put back; or, if startWithMissingLogFiles says so,
an empty file takes its place, and all that the others hold is served. Nothing is removed. Ours: the standard
ignores a missing file, or does not start.
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
    """Files of the log are not there, though others show that they were. `starts` are theirs."""

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
    """Raise `MissingLogFiles` if files were lost; nothing is changed. `known` gives the newest record that
    derived files know. `checkpoint` is where a record lay that
    was durable, `repair` says whether the last stop was unclean. Raises `CorruptFile` and `OSError` too.
    """
    starts = files.examine(repair)
    missing = files.missing(starts)
    if missing:
        following = next(start for start in starts if start > missing[0])
        raise MissingLogFiles(files, missing, f"{file_name(following)} is the next file")
    end = starts[-1] + files.file_size if starts else 0
    # A damaged checkpoint could say so too, but no queue would; after a power cut one of 0 promises nothing.
    if checkpoint >= max(end, int(repair)) and (newest := known()) >= end:
        last = files.start_of(newest)
        sign = f"consume queues know records up to {newest}"
        raise MissingLogFiles(files, list(range(end if starts else last, last + 1, files.file_size)), sign)


def newest_place(queues: ConsumeQueues) -> int:
    """Where the newest record lies that a consume queue on disk knows; -1 if none does."""
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
    """The place in the last unit of a file, found by halving; -1 without one."""
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
    """Put a file without records in the place of each that is missing. Raises `OSError`."""
    for start in starts:
        path = f"{files.directory}/{file_name(start)}"
        file = files.disk.open(path, create=True)
        file.truncate(files.file_size)
        file.write(0, blank(files.file_size))
        file.sync()
        file.close()
        files.disk.sync_dir(files.directory)
        log.error("%s was missing: it is replaced by an empty file and its messages are skipped", path)
