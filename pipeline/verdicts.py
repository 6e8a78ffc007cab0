"""The outcome of a transactional batch, recorded before a broker is notified of any of its messages.

The rows of the batch are stored at the brokers as invisible half messages; `Places` has their positions, in a
few bytes a row. When Spark commits the batch its `Verdict` is written. From then on these messages and no
others are its rows, after any failure: a later process notifies the brokers of the rest. `Verdicts` keeps
them in a folder, by default below Spark's checkpoint:

    QUERY.BATCH.open    to be committed; brokers may have been notified of some or all of the messages
    QUERY.BATCH.done    the brokers have acknowledged the commit of all messages

No file is ever changed. This module depends on neither brokers nor Spark.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple, Protocol
from urllib.parse import quote

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import PipelineError

OPEN, DONE = "open", "done"


class Transaction(NamedTuple):
    """The rows that are committed together: those of a batch of a query."""

    query: str
    batch: int

    @property
    def mark(self) -> str:
        """The property value that each of its messages carries."""
        return f"{self.query}/{self.batch}"


class Half(NamedTuple):
    """The position of a half message: its offsets in its broker's half queue and in the broker's log."""

    queue_offset: int
    physical_offset: int


class Places(NamedTuple):
    """Half messages for one queue, sent by one task, in order."""

    topic: str
    broker_name: str
    queue_id: int
    rows: int
    packed: bytes

    @property
    def queue(self) -> MessageQueue:
        """The queue in which they become visible."""
        return MessageQueue(self.topic, self.broker_name, self.queue_id)

    def halves(self) -> Iterator[Half]:
        """Yield the position of each. Raises `PipelineError` for invalid bytes."""
        try:
            steps = struct.unpack(f"<{2 * self.rows}q", zlib.decompress(self.packed))
        except (struct.error, zlib.error) as error:
            raise PipelineError(f"places of half messages cannot be read: {error}") from None
        return map(Half, accumulate(steps[: self.rows]), accumulate(steps[self.rows :]))


def places(queue: MessageQueue, queue_offsets: Iterable[int], physical_offsets: Iterable[int]) -> Places:
    """Return packed positions: distances are much alike, so they compress well."""
    steps = [*_steps(queue_offsets), *_steps(physical_offsets)]
    packed = zlib.compress(struct.pack(f"<{len(steps)}q", *steps))
    return Places(queue.topic, queue.broker_name, queue.queue_id, len(steps) // 2, packed)


def _steps(numbers: Iterable[int]) -> Iterator[int]:
    before = 0
    for number in numbers:
        yield number - before
        before = number


@dataclass(frozen=True)
class Verdict:
    """A transaction to be committed: its messages, their producer group, and the time of the decision (ms).
    One that `is_done` names no messages any more."""

    transaction: Transaction
    group: str
    decided_at: int
    places: tuple[Places, ...] = ()
    is_done: bool = False

    def encode(self) -> bytes:
        """Return the content of the file."""
        query, batch = self.transaction
        listed = [{**one._asdict(), "packed": base64.b64encode(one.packed).decode()} for one in self.places]
        document = {
            "query": query,
            "batch": batch,
            "group": self.group,
            "decidedAt": self.decided_at,
            "places": listed,
        }
        return json.dumps(document).encode()

    @classmethod
    def decode(cls, data: bytes, is_done: bool) -> Verdict:
        """Return the verdict of a file's content. Raises `ValueError`, `KeyError` or `TypeError`."""
        document = json.loads(data)
        listed = [
            Places(**{**one, "packed": base64.b64decode(one["packed"], validate=True)})
            for one in document["places"]
        ]
        transaction = Transaction(str(document["query"]), int(document["batch"]))
        return cls(transaction, str(document["group"]), int(document["decidedAt"]), tuple(listed), is_done)

    def done(self) -> Verdict:
        """Return the verdict after the brokers have acknowledged its commit."""
        return replace(self, places=(), is_done=True)


class Folder(Protocol):
    """The folder of the files. A written file exists completely or not at all."""

    def names(self) -> list[str]:
        """Return the names of the files."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Create a file."""
        ...

    def delete(self, name: str) -> None:
        """Remove a file."""
        ...


class Verdicts:
    """The verdicts in a folder. Raises `PipelineError` for an invalid file, and the folder's errors."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read(self, transaction: Transaction) -> Verdict | None:
        """Return the verdict on a transaction, if there is one."""
        names = self._names()
        for state in (DONE, OPEN):
            if _name(transaction, state) in names:
                return self._read(_name(transaction, state))
        return None

    def open_ones(self, query: str) -> list[Verdict]:
        """Return the verdicts of a query that are still to be committed, the oldest first."""
        names = self._names()
        found = [
            self._read(name)
            for name, state in names.items()
            if state == OPEN and _query(name) == _quoted(query) and f"{name[: -len(OPEN)]}{DONE}" not in names
        ]
        return sorted(found, key=lambda one: one.transaction.batch)

    def newest_done(self, query: str | None = None) -> Verdict | None:
        """Return the last committed verdict: of this query, or of any."""
        wanted = None if query is None else _quoted(query)
        names = [name for name, state in self._names().items() if state == DONE]
        done = [self._read(name) for name in names if wanted is None or _query(name) == wanted]
        return max(done, key=lambda one: one.decided_at, default=None)

    def write(self, verdict: Verdict) -> None:
        """Write a verdict. One that is done replaces the open one and removes those before the previous
        batch."""
        state = DONE if verdict.is_done else OPEN
        self._folder.write(_name(verdict.transaction, state), verdict.encode())
        if verdict.is_done:
            self.clear(verdict.transaction)

    def clear(self, transaction: Transaction) -> None:
        """Remove the files that are obsolete once this transaction is done; idempotent."""
        query, batch = transaction
        for name, state_of in self._names().items():
            number = int(name.split(".")[-2])
            is_over = number < batch - 1 or (number == batch and state_of == OPEN)
            if _query(name) == _quoted(query) and is_over:
                self._folder.delete(name)

    def _names(self) -> dict[str, str]:
        """Return the files of verdicts, and their states."""
        parts = {name: name.rsplit(".", 2) for name in self._folder.names()}
        return {
            name: part[2]
            for name, part in parts.items()
            if len(part) == 3 and part[1].isdigit() and part[2] in (OPEN, DONE)
        }

    def _read(self, name: str) -> Verdict:
        try:
            return Verdict.decode(self._folder.read(name), name.endswith(DONE))
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"the file {name} is not the outcome of a transaction: {error!r}") from None


def _quoted(query: str) -> str:
    return quote(query, safe="")


def _query(name: str) -> str:
    return name.rsplit(".", 2)[0]


def _name(transaction: Transaction, state: str) -> str:
    return f"{_quoted(transaction.query)}.{transaction.batch}.{state}"
