"""Broker sets of a single controller: a table on disk, and a journal of changes since.

    controllerStorePath/brokerSets.json             {"brokerSets":{name:{...}},"term":n}
    controllerStorePath/brokerSets.json.journal0    the changes to it; see `engine.tables.journal`

A change is in the journal, and synced, before any request is answered. The table is the snapshot, and a
journal is removed only when a table with its changes is durable. Each start is a term of its own. After a
failed sync it is unknown what a start would find. So the controller does not lead then until the whole table
is written: otherwise a master's epoch could be assigned twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

from mqgateway.engine.clock import Clock
from mqgateway.engine.controller.broker_set import BrokerSet, changed
from mqgateway.engine.controller.events import Event
from mqgateway.engine.controller.state import Leader, NotLeading, OnAgreed
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import JsonError, loads
from mqgateway.engine.tables.journal import Change
from mqgateway.engine.tables.journaled import JournaledFile
from mqgateway.engine.tables.jsonfile import in_chunks
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

FILE_NAME = "brokerSets.json"
SETS, TERM = "brokerSets", "term"


class LocalState:
    """The sets, loaded from their file on construction. `me` is this controller, which leads.

    Raises `ConfigError` if the file exists and is unusable, or a new term cannot be written. Starting without
    sets would assign epochs a second time, and elect a replica that is not in sync.
    """

    def __init__(self, me: Leader, disk: Disk, path: str, clock: Clock, worker: Worker | None = None) -> None:
        self._me = me
        self._path = path
        _check_readable(disk, path)
        self._file = JournaledFile(disk, path, clock, worker)
        table = self._file.load() or {}
        self._sets, self._term = _read(table, path)
        self._is_durable = True
        try:
            self._file.append([([TERM], self._term + 1)])
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error}") from None
        self._term += 1
        self._proceed(lambda _: None)

    @property
    def sets(self) -> Mapping[str, BrokerSet]:
        """See `State.sets`."""
        return self._sets

    @property
    def is_leader(self) -> bool:
        """True if all agreed changes are durable; see above."""
        return self._is_durable

    @property
    def leader(self) -> Leader | None:
        """This controller, while it leads."""
        return self._me if self._is_durable else None

    @property
    def term(self) -> int:
        """Number of starts of this controller."""
        return self._term

    def propose(self, event: Event, on_agreed: OnAgreed) -> None:
        """See `State.propose`; fails with `NotLeading` or `OSError`."""
        if not self._is_durable:
            on_agreed(self._not_leading())
            return
        name = event.broker_name
        after = changed(self._sets.get(name), event)
        change: Change = [([SETS, name], None if after is None else after.to_json())]
        try:
            self._file.append(change)
        except OSError as error:
            self._failed()
            on_agreed(error)
            return
        if after is None:
            self._sets.pop(name, None)
        else:
            self._sets[name] = after
        self._proceed(on_agreed)

    def confirm(self, on_agreed: OnAgreed) -> None:
        """See `State.confirm`."""
        on_agreed(None if self._is_durable else self._not_leading())

    def start(self, leads: Callable[[], None]) -> None:
        """See `State.start`: a single controller leads at once."""
        leads()

    def tick(self) -> None:
        """Write the file if it lacks changes; see `State.tick`."""
        if self._is_durable:
            self._file.retry(self._chunks)
        else:
            self._file.save(self._chunks, at_once=True)
            self._file.when_durable(self._mended)

    def close(self, on_closed: Callable[[], None]) -> None:
        """Write the file synchronously if it lacks changes; see `State.close`."""
        self._file.close(self._chunks)
        on_closed()

    def _proceed(self, on_agreed: OnAgreed) -> None:
        self._file.proceed(self._chunks)

        def durable(error: OSError | None) -> None:
            if error is not None:
                self._failed()
            on_agreed(error)

        self._file.when_durable(durable)

    def _failed(self) -> None:
        if self._is_durable:
            log.error(
                "%s cannot be written: this controller does not lead until a write succeeds", self._path
            )
        self._is_durable = False

    def _not_leading(self) -> NotLeading:
        return NotLeading(f"{self._path} lacks changes that could not be written")

    def _mended(self, error: OSError | None) -> None:
        if error is None and not self._is_durable:
            self._is_durable = True
            log.info("%s is written again: this controller leads", self._path)

    def _chunks(self) -> Iterator[bytes]:
        sets = {name: one.to_json() for name, one in self._sets.items()}
        return in_chunks({SETS: sets, TERM: self._term})


def _check_readable(disk: Disk, path: str) -> None:
    """Raise `ConfigError` if the file, or its rest after a crash, is not a table."""
    name = path if disk.exists(path) else f"{path}.bak"
    if not disk.exists(name):
        return
    try:
        is_table = isinstance(loads(disk.read_bytes(name)), dict)
        reason = "it has other content"
    except (OSError, JsonError) as error:
        is_table, reason = False, str(error)
    if not is_table:
        raise ConfigError(
            f"{name}: the broker sets cannot be read: {reason}. Repair the file or restore a copy. If "
            f"there is no copy: stop all brokers, remove {path}* and each broker's brokerIdentity, and start "
            "the broker with the longest log first"
        )


def _read(table: Mapping[str, object], path: str) -> tuple[dict[str, BrokerSet], int]:
    """Return the sets and the term of a table. Raises `ConfigError`."""
    kept, term = table.get(SETS) or {}, table.get(TERM) or 0
    try:
        if not isinstance(kept, dict) or not isinstance(term, int):
            raise TypeError("no table of sets")
        return {str(name): BrokerSet.from_json(str(name), one) for name, one in kept.items()}, term
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: not a controller's file: {error!r}") from None
