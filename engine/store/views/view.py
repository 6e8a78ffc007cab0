"""The interface of a view: a structure that is derived from the commit log.

A view is a function of the log's records. What it keeps, whatever crashes and truncations it went through,
equals what a rebuild from the log gives (`state`). Every method has a default that suits a view which keeps
nothing on disk and is rebuilt at each start, so a new view implements `append`, `repeat`, `truncate`,
`begin_again` and `state`, and `read_limit` if it limits readers. RocketMQ: `CommitLogDispatcher`,
`ConsumeQueueStoreInterface`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mypy_extensions import mypyc_attr

from mqgateway.engine.disk import File
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.dispatch_request import DispatchRequest
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.scan import Progress
from mqgateway.engine.store.unit_queue import UnitQueue

NOTHING: Final = -1
"""The position of the last record of a view that has none."""


class ViewCoverage(NamedTuple):
    """The part of the log that a view has after loading: all records up to the one at `last`. The log is read
    again from `begin`, which is the position of a record or of the start of a file."""

    begin: int
    last: int


class StoreStart:
    """The circumstances of a start, as views need them to load.

    `point` is, after an unclean stop, the position from which derived data was not promised to be on disk, or
    from which a view wants all records again.
    `promise_nothing` must be called before a view loses data that the checkpoint promises.
    """

    __slots__ = ("check_crc", "checkpoint", "is_clean", "log", "point", "progress", "promise_nothing")

    def __init__(
        self,
        log: Log,
        checkpoint: Checkpoint,
        *,
        is_clean: bool,
        point: int,
        check_crc: bool,
        progress: Progress | None,
        promise_nothing: Callable[[], None],
    ) -> None:
        self.log = log
        self.checkpoint = checkpoint
        self.is_clean = is_clean
        self.point = point
        self.check_crc = check_crc
        self.progress = progress
        self.promise_nothing = promise_nothing

    @property
    def files(self) -> FileQueue:
        """The files of the log."""
        return self.log.files

    @property
    def oldest(self) -> int:
        """The start of the first file of the log."""
        return self.files.starts[0] if self.files.starts else 0


@mypyc_attr(allow_interpreted_subclasses=True)
class UnsyncedFiles:
    """Files and directories that a view has written to since it was last asked.

    `files`, by directory and start, may be synced with the whole file system instead of one by one, and so
    may `directories`. `open_files` and `open_directories` are always synced by themselves.
    """

    def __init__(self) -> None:
        self.files: set[tuple[str, int]] = set()
        self.directories: set[str] = set()
        self.open_files: list[File] = []
        self.open_directories: list[str] = []

    def sync(self) -> None:
        """Write and sync files that take long to write; on the worker, or at a stop. Raises `OSError`."""

    def note(self, checkpoint: Checkpoint) -> None:
        """Enter into the checkpoint what is durable now."""

    def confirm(self) -> None:
        """Write what may be on disk only after a checkpoint covers it. Raises `OSError`."""


@mypyc_attr(allow_interpreted_subclasses=True)
class View:
    """One view. Methods raise `OSError` where they say that they touch files."""

    # Following the log. Attributes, as they are read once in each turn for every view.

    last: int = NOTHING
    """Position of the newest record that was dispatched, whether the view was given it or ignores it."""
    ignores_plain: bool = False
    """True if no message with a queue and without a producer changes the view. Then `append` is not called
    for messages that are all like that."""
    is_full: bool = False
    """True if `settle` has something to write out; it is called only then."""

    @property
    def takes_records(self) -> bool:
        """True if the view is made of records as they are stored. Otherwise `append` and `settle` are not
        called."""
        return True

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        """Take messages in the order of the log, noting arrivals for long polls. Touches no file."""
        raise NotImplementedError

    def expect(self, request: DispatchRequest) -> None:
        """Take note of a batch of an idempotent producer, or of a marker, that is in the log and that
        `append` will get."""

    def expect_nothing(self) -> None:
        """Forget what was expected."""

    @property
    def reads_properties(self) -> bool:
        """True if the view needs more of a record than queues and index do. Then no message is given as a
        part of a `KeyedBatch` or a `QueuedRun`, which say nothing of other properties."""
        return False

    def settle(self, now: int) -> None:
        """Write out what has grown too long for memory, or does not wait; `now` is a time in ms. Touches
        files."""

    def delete_topic(self, topic: str) -> bool:
        """Forget a topic; return True if it was known. Touches files."""
        return False

    # Starting.

    def prepare(self) -> None:
        """Read what a clean stop left only for the next start. Called before files are changed, which it may
        do."""

    def newest_on_disk(self) -> int:
        """Return the position of the newest record that the files refer to, without changing anything."""
        return NOTHING

    def load(self, start: StoreStart) -> Steps[ViewCoverage | None]:
        """Load from disk. None: the view has whatever the views before it have."""
        yield from ()
        return ViewCoverage(start.oldest, NOTHING)

    def mend(self, start: StoreStart, until: int) -> Steps[None]:
        """Restore what is missing of records up to the one at `until`."""
        yield from ()

    def repeat(self, message: StoredMessage) -> bool:
        """Take a record that is read from the log again; return False if one before it is missing. Where the
        view has another record in its place, this one counts, as it is later in the log."""
        raise NotImplementedError

    @property
    def is_whole(self) -> bool:
        """True unless what was loaded has a gap, so that the whole log must be dispatched again."""
        return True

    def begin_again(self) -> None:
        """Prepare for all records of the log, from the first on."""

    def end_at(self, end: int) -> None:
        """Finish a start: the log ends at `end`. What lies after it is forgotten. Touches files."""

    def opened(self, is_clean: bool) -> None:
        """Act on the start's success; `is_clean` says whether the last stop was. Touches files."""

    # Being open.

    def tick(self, is_failing: bool) -> None:
        """Do what is due by the clock. If `is_failing`, views cannot be written at the moment."""

    @property
    def is_idle(self) -> bool:
        """True if no worker writes to the view's files, so that it can be truncated."""
        return True

    def truncate(self, offset: int) -> int:
        """Forget all records at or after `offset`, the new end of the log. Return the position of the newest
        record that is left in the view, or `NOTHING` where it does not know. Touches files."""
        return NOTHING

    def delete_before(self, oldest: int) -> Steps[None]:
        """Delete files whose records have all left the log, which begins at `oldest`. Touches files."""
        yield from ()

    def read_limit(self, queue: UnitQueue) -> int | None:
        """Return the queue offset at which readers must stop for now; None: this view sets no limit."""
        return None

    @property
    def limits_reading(self) -> bool:
        """True if `read_limit` must be asked."""
        return False

    @property
    def needed_from(self) -> int | None:
        """The position of the log from which on its files must be kept for the view; None: it needs none."""
        return None

    # Flushing: `mark_due`, `write` until nothing is left, then `take_unsynced`.

    def mark_due(self) -> None:
        """Make due what is in memory now, for the next calls of `write`."""

    def write(self, now: int, time_is_up: Callable[[], bool] | None) -> bool:
        """Write to files what is due, or everything if `time_is_up` is None; return True if something due is
        left. `now` is the time in ms. Touches files; what was not written stays in memory."""
        return False

    def first_unwritten(self) -> int | None:
        """Return the position of the oldest record that is in memory only; None if there is none."""
        return None

    def take_unsynced(self) -> UnsyncedFiles:
        """Hand over what must be synced for a checkpoint."""
        return UnsyncedFiles()

    # Stopping.

    def stop(self) -> None:
        """End all work: nothing will be appended any more, and what a worker was given will not be done."""

    def stopped(self, log: Log, newest: int) -> None:
        """Act on a clean stop: all is synced, and the newest record in a queue is at `newest`. Touches
        files."""

    def close(self) -> None:
        """Release files."""

    # Comparing.

    def state(self, oldest: int) -> object:
        """Return what the view holds of records from `oldest` on, to be compared with a rebuilt view."""
        raise NotImplementedError
