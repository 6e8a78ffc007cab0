"""Checks of open transactions: half messages that are due are put again, and their producers are asked.

The half queue is walked once a round (`transactionCheckInterval`), from the first unsettled half message. For
each that is due, a copy with one more check is put at the end of the queue, and the producer group is asked
about that copy. One that was checked too often, or is too old, is discarded. A half message whose producers
are not connected, or asked for time, is held: skipped until then.
RocketMQ: `TransactionalMessageServiceImpl.check`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.counting import Counting
from mqgateway.engine.message import PROPERTY_UNIQ_KEY, TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC, Message
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicTable
from mqgateway.engine.transactions.half import (
    HALF_QUEUE,
    Due,
    HalfMessage,
    as_given_up,
    question_record,
    renewed,
)
from mqgateway.engine.transactions.listing import GROUP
from mqgateway.engine.transactions.open_halves import HeldHalf, OpenHalves

log = logging.getLogger(__name__)

HOUR_MILLIS = 3_600_000
RENEWAL_MILLIS = HOUR_MILLIS
"""Time after which a waiting half message is put again, so that its log file may be deleted."""
SPREAD_MAX = 100_000
"""Maximum distance from the end of the half queue before it is put again: a start reads as many."""
STEPS_A_TICK = 20_000
ATTEMPTS_MAX = 3
"""Number of rounds in which an unreadable half message is retried before it is skipped."""

IsReachable = Callable[[str, str], bool]
"""Returns True if a member of a producer group is connected that may be asked about messages of a topic."""


class CheckBack(NamedTuple):
    """A check for one producer of a group. `number` increases with each, for a round-robin of producers."""

    number: int
    group: str
    queue_offset: int
    physical_offset: int
    unique_key: str | None
    message_id: str
    record: bytes
    """The half message as for consumers, at the position of the copy."""
    topic: str


class _Round:
    """One walk along the half queue."""

    __slots__ = ("cursor", "end")

    def __init__(self, cursor: int, end: int) -> None:
        self.cursor = cursor
        self.end = end


class CheckRounds:
    """Rounds along the half queue. `stats` counts half messages read or put again."""

    def __init__(
        self,
        halves: OpenHalves,
        store: MessageStore,
        topics: TopicTable,
        options: BrokerOptions,
        store_options: StoreOptions,
        clock: Clock,
        stats: Counting,
    ) -> None:
        self._halves = halves
        self._store = store
        self._topics = topics
        self._options = options
        self._store_options = store_options
        self._clock = clock
        self._stats = stats
        self.begin()

    def begin(self) -> None:
        """Start again with a pause before the first round."""
        self._round: _Round | None = None
        self._questions = 0
        self._rested_since = self._clock.monotonic()

    @property
    def is_walking(self) -> bool:
        """True if a round is in progress, which the next tick continues."""
        return self._round is not None

    def tick(self, now: int, is_reachable: IsReachable) -> list[CheckBack]:
        """Do what is due at `now`, in steady time (ms); return the checks to send."""
        options = self._options
        elapsed = self._clock.monotonic()
        rested = (elapsed - self._rested_since) * 1000
        if self._round is None and rested >= options.transaction_check_interval:
            self._begin_round()
        questions: list[CheckBack] = []
        if self._round is not None:
            before = self._halves.listing.count
            try:
                self._walk(self._round, now, is_reachable, questions)
            except OSError as error:
                log.error("half messages cannot be read: %s", error)
                self._end_round()
            if self._halves.listing.count > before:
                self._halves.listing.write()
        self._halves.listing.tick()
        return questions

    def _begin_round(self) -> None:
        store, settled = self._store, self._halves.settled
        low = store.min_offset(TRANS_HALF_TOPIC, HALF_QUEUE)
        if settled.progress < low:
            log.error("half messages %d to %d are deleted from the log", settled.progress, low - 1)
            settled.skip_to(low)
            self._halves.held = {offset: held for offset, held in self._halves.held.items() if offset >= low}
        settled.advance()
        self._round = _Round(settled.progress, store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE))

    def _end_round(self) -> None:
        self._round = None
        self._rested_since = self._clock.monotonic()

    def _walk(self, walk: _Round, now: int, is_reachable: IsReachable, questions: list[CheckBack]) -> None:
        """Continue a round, within the limits of one tick."""
        reads = self._options.max_transactions_checked_per_tick
        cursor = max(walk.cursor, self._halves.settled.progress)
        last = min(walk.end, cursor + STEPS_A_TICK)
        while cursor < last and reads > 0:
            if cursor not in self._halves.settled and not self._is_held(cursor, walk, now, is_reachable):
                reads -= 1
                if not self._look_at(cursor, walk, now, is_reachable, questions):
                    self._end_round()
                    return
            cursor += 1
        walk.cursor = cursor
        if cursor >= walk.end:
            self._end_round()

    def _is_held(self, offset: int, walk: _Round, now: int, is_reachable: IsReachable) -> bool:
        held = self._halves.held.get(offset)
        if held is None or now >= held.until or walk.end - offset > SPREAD_MAX:
            return False
        return held.group is None or not is_reachable(held.group, held.topic)

    def _look_at(
        self, offset: int, walk: _Round, now: int, is_reachable: IsReachable, questions: list[CheckBack]
    ) -> bool:
        """Process one half message; return False to end the round."""
        stored, is_gone = self._halves.at(offset)
        if stored is None:
            self._miss(offset, is_gone=is_gone)
            return True
        self._stats.got(GROUP, TRANS_HALF_TOPIC, 1, stored.size)
        half = HalfMessage(stored)
        if half.is_copy:
            if half.origin in self._halves.answered:
                self._halves.settle(offset)
                return True
            self._halves.note_copy(half, offset)
        # Before each check too: the copy is later in the log than the half message.
        if self._topics.leaves_out(half.topic, stored.physical_offset):
            self._halves.settle(offset)
            self._halves.newest.pop(half.origin, None)
            return True
        options = self._options
        reserved = self._store_options.file_reserved_time * HOUR_MILLIS
        ahead = self._halves.ahead(half)
        due = half.due(now - ahead, options.transaction_time_out, options.transaction_check_max, reserved)
        if due is Due.NOTHING_YET:
            return False
        if due is Due.GIVING_UP or half.queue_id is None:
            return self._give_up(half)
        too_old = stored.born_timestamp + ahead + reserved + 1
        if due is Due.LATER:
            patient_until = now + half.patience(options.transaction_time_out) - half.age(now - ahead) + 1
            return self._hold(half, walk, now, HeldHalf(min(patient_until, too_old), None))
        if not is_reachable(half.group, half.topic):
            return self._hold(half, walk, now, HeldHalf(too_old, half.group, half.topic))
        return self._ask(half, questions)

    def _hold(self, half: HalfMessage, walk: _Round, now: int, held: HeldHalf) -> bool:
        """Skip a half message for now, or put it again if it would block the progress."""
        offset = half.stored.queue_offset
        stored = half.stored
        ahead = self._store.steady.ahead_at(stored.physical_offset, stored.store_timestamp)
        until = stored.store_timestamp + ahead + RENEWAL_MILLIS
        waiting = self._halves.held
        has_room = len(waiting) < self._options.max_waiting_transactions or offset in waiting
        if has_room and now < until and walk.end - offset <= SPREAD_MAX:
            waiting[offset] = held._replace(until=min(held.until, until))
            return True
        return self._renew(half, renewed(half, is_checked=False)) is not None

    def _ask(self, half: HalfMessage, questions: list[CheckBack]) -> bool:
        copy = renewed(half, is_checked=True)
        result = self._renew(half, copy)
        if result is None:
            return False
        self._stats.put(TRANS_HALF_TOPIC, 1, result.end_offset - result.physical_offset)
        self._questions += 1
        questions.append(
            CheckBack(
                self._questions,
                half.group,
                result.queue_offset,
                result.physical_offset,
                copy.properties.get(PROPERTY_UNIQ_KEY),
                result.message_id,
                question_record(half, copy, result),
                half.topic,
            )
        )
        return True

    def _renew(self, half: HalfMessage, copy: Message) -> PutResult | None:
        offset = half.stored.queue_offset
        result = self._halves.put(copy)
        if result.status is not PutStatus.PUT_OK:
            log.warning(
                "half message %d cannot be written again: %s", offset, result.remark or result.status.name
            )
            return None
        self._halves.note_copy(half, result.queue_offset)
        self._halves.settle(offset)
        return result

    def _give_up(self, half: HalfMessage) -> bool:
        stored = half.stored
        self._topics.create_for_send_back(TRANS_CHECK_MAX_TIME_TOPIC, 1, PERM_READ | PERM_WRITE, 0)
        result = self._halves.put(as_given_up(half))
        if result.status is not PutStatus.PUT_OK:
            log.error("half message %d cannot be discarded: %s", stored.queue_offset, result.remark)
            return False
        log.warning(
            ("transaction %s of group %s for topic %s is discarded after %d checks: it is now in %s at %d"),
            stored.properties.get(PROPERTY_UNIQ_KEY),
            half.group,
            half.topic,
            half.check_times,
            TRANS_CHECK_MAX_TIME_TOPIC,
            result.queue_offset,
        )
        self._halves.settle(stored.queue_offset)
        self._halves.newest.pop(half.origin, None)
        self._halves.counts.add(half.topic, -1)
        return True

    def _miss(self, offset: int, *, is_gone: bool) -> None:
        """Count a failed read of a half message."""
        attempts = self._halves.unreadable[offset] = self._halves.unreadable.get(offset, 0) + 1
        if is_gone or attempts >= ATTEMPTS_MAX:
            log.error("half message %d cannot be read and is skipped", offset)
            self._halves.settle(offset)
