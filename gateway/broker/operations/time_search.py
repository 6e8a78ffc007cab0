"""Records of Kafka by timestamp: the first one at or after a time, and the one with the largest.

Timestamps are those of producers, whose clocks may be wrong, so they need not ascend in a queue. Store times
do, and a record's timestamp may be ahead of its store time by `message.timestamp.after.max.ms` of its topic
at most. A search halves over store times to where that lets it begin, and reads the born timestamp of every
record from there on. It decompresses only a batch in which the answer may be.

It costs 48 bytes of each record that was stored between the time that is looked for, less that limit, and the
answer: with the default of one hour, the heads of an hour's batches. It runs as a cooperative task of small
steps, and a worker reads what is not in memory. With a limit that has no end, it reads the heads of the whole
queue. A record that is ahead of its store time by more is not found unless it is stored after the place where
the search begins: one stored before the setting was reduced, or a message of a RocketMQ client whose clock is
wrong, since nothing limits these.
"""

from __future__ import annotations

import logging
from operator import attrgetter
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.record_batches.batches import batches
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import time_of
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.store.record_times import RecordTime
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import ROUNDS, brought, busy
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.operations.gate import Runner

log = logging.getLogger(__name__)

_TOGETHER: Final = 64
"""Records of a batch that are looked at in one step."""
_TIMESTAMP: Final = attrgetter("timestamp")


class TimedOffset(NamedTuple):
    """A record's queue offset, and its timestamp in ms."""

    offset: int
    timestamp: int


class SearchRange(NamedTuple):
    """Messages of a queue in which a client looks for a record: those from `begin` on, before `end`.

    `lead` is by how many ms a timestamp may be ahead of the store time.
    """

    connection: ClientConnection
    topic: str
    queue_id: int
    begin: int
    end: int
    lead: int


class _Search:
    """A search, which is resumed where it was once bytes that it needs are in memory.

    It ends without a result if its connection is lost.
    """

    def __init__(self, broker: Broker, runner: Runner, where: SearchRange) -> None:
        self._broker = broker
        self._store = broker.store
        self._runner = runner
        self._range = where
        self._rounds = ROUNDS
        self._offset = -1
        """The offset to read next, negative until it is known where to begin."""

    def run(self) -> Deferred[TimedOffset | None]:
        """Begin the search, or resume it. Searches of one client follow one another."""
        return self._runner.run(f"time search {self._range.connection.address}", self._steps())

    def _steps(self) -> Steps[TimedOffset | Deferred[TimedOffset | None] | None]:
        try:
            return (yield from self._search())
        except ColdRead as cold:
            self._rounds -= 1
            return brought(self._broker, cold).addCallback(lambda _: self.run())
        except NothingYet as missing:
            raise busy(missing) from None

    def _search(self) -> Steps[TimedOffset | None]:
        """Search from `_offset` on. Raises `ColdRead`."""
        raise NotImplementedError

    @property
    def _may_wait(self) -> bool:
        """Return True if bytes for the next read were brought into memory too often."""
        return self._rounds <= 0

    @property
    def _is_over(self) -> bool:
        return self._offset >= self._range.end or not self._range.connection.is_open

    def _go_to(self, offset: int) -> None:
        """Continue at an offset."""
        if offset != self._offset:
            self._offset, self._rounds = offset, ROUNDS

    def _begin_for(self, timestamp: int) -> int:
        """Return the offset before which there is no record with this timestamp or a later one."""
        where, stored = self._range, timestamp - self._range.lead
        found = self._store.offset_by_time(where.topic, where.queue_id, stored, may_wait=self._may_wait)
        return max(where.begin, found)

    def _times(self) -> tuple[list[RecordTime], int]:
        """Return times of records from `_offset` on, and the offset to read next."""
        where = self._range
        return self._store.record_times.read(
            where.topic, where.queue_id, self._offset, where.end, may_wait=self._may_wait
        )

    def _records(self, offset: int, least: int) -> Steps[list[TimedOffset]]:
        """Return the records with a timestamp of `least` or later, of the batch with the one at an offset.

        If that cannot be read they are those of the next one that can.
        """
        where, found = self._range, list[TimedOffset]()
        result = self._store.batches.get(
            where.topic,
            where.queue_id,
            max(offset, where.begin),
            1,
            most_built=1,
            may_wait=self._may_wait,
            uncommitted=True,
        )
        yield
        try:
            for batch in batches(result.spans[0]) if result.spans else ():
                records = batch.records() if batch.max_timestamp >= least else iter(())
                for number, record in enumerate(records):
                    at, timestamp = batch.base_offset + record.offset_delta, time_of(batch, record)
                    if timestamp >= least and where.begin <= at < where.end:
                        found.append(TimedOffset(at, timestamp))
                    if number % _TOGETHER == 0:
                        yield
        except CodecError as error:
            log.warning("%s queue %d: the batch at %d: %s", where.topic, where.queue_id, offset, error)
        return found


class FirstAt(_Search):
    """A search for the first record whose timestamp is a time in ms or later."""

    def __init__(self, broker: Broker, runner: Runner, where: SearchRange, timestamp: int) -> None:
        super().__init__(broker, runner, where)
        self._timestamp = timestamp

    def _search(self) -> Steps[TimedOffset | None]:
        if self._offset < 0:
            self._go_to(self._begin_for(self._timestamp))
        while not self._is_over:
            times, next_offset = self._times()
            for time in times:
                if time.born_timestamp >= self._timestamp:
                    self._go_to(max(self._offset, time.offset))
                    found = yield from self._records(time.offset, self._timestamp)
                    if found:
                        return found[0]
            self._go_to(next_offset)
            yield
        return None


class Latest(_Search):
    """A search for the first of the records with the largest timestamp.

    It begins where no record can have a later timestamp than the last one of the queue. Born timestamps are
    taken for those of records. Where a record has none of its own that is wrong: then the search is repeated,
    and reads each batch that seems to have a later timestamp than all before it.
    """

    def __init__(self, broker: Broker, runner: Runner, where: SearchRange) -> None:
        super().__init__(broker, runner, where)
        self._begin = 0
        self._latest: TimedOffset | None = None
        self._is_exact = False

    def _search(self) -> Steps[TimedOffset | None]:
        where = self._range
        if self._offset < 0:
            last = yield from self._records(where.end - 1, 0)
            self._begin = self._begin_for(max(last, key=_TIMESTAMP).timestamp) if last else where.begin
            self._go_to(self._begin)
        yield from self._pass()
        if self._is_exact or self._latest is None:
            return self._latest
        found = yield from self._records(self._latest.offset, self._latest.timestamp)
        if not found:
            self._is_exact, self._latest = True, None
            self._go_to(self._begin)
            yield from self._pass()
            return self._latest
        return max(found, key=_TIMESTAMP)

    def _pass(self) -> Steps[None]:
        """Read to the end; `_latest` is then the first with the largest timestamp."""
        while not self._is_over:
            times, next_offset = self._times()
            for time in times:
                least = 0 if self._latest is None else self._latest.timestamp + 1
                if time.born_timestamp < least:
                    continue
                if not self._is_exact:
                    self._latest = TimedOffset(*time)
                    continue
                self._go_to(max(self._offset, time.offset))
                found = yield from self._records(time.offset, least)
                if found:
                    self._latest = max(found, key=_TIMESTAMP)
            self._go_to(next_offset)
            yield
