"""Open transactions: storing half messages, ending them, checking those that are not ended.

The half queue is walked once a round (`transactionCheckInterval`), from the first unsettled half message. For
each that is due, a copy with one more check is put at the end of the queue, and the producer group is asked
about that copy. Settled ones are listed in op messages (ends by producers are batched for up to
`transactionOpBatchInterval`), so a start finds them. The progress, up to which everything is settled, is in
consumerOffset.json as consumed by CID_RMQ_SYS_TRANS. All files are RocketMQ's: either broker resumes from the
other.

Order of writes, so that a crash at any step leaves a half message that is checked again, never none:

    commit      the message itself, then the op message
    check       the copy, then the op message, then the request to the producer
    discard     the message in TRANS_CHECK_MAX_TIME_TOPIC, then the op message
    progress    only once the log that it relies on is durable

A commit therefore reaches consumers at least once. After a crash between its two writes, a start searches for
commits after the last op message (`unlisted`), so consumers get it once, unless the log lost it. These rules
differ from RocketMQ's: a group without connected members is not asked, and no check counts, until one
connects or the message is older than `fileReservedTime`; a producer's request for more time costs no checks;
a commit of a half message that was copied meanwhile settles the copy too; the age of a half message is by the
broker's clock, not by its producer's.

`listing` records settled messages. RocketMQ: `TransactionalMessageServiceImpl`.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.counting import UNCOUNTED, Counting
from mqgateway.engine.message import (
    PROPERTY_UNIQ_KEY,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    Message,
    StoredMessage,
)
from mqgateway.engine.options import BrokerOptions, FlushDiskType, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.offsets import UNKNOWN, ConsumerOffsets
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicTable
from mqgateway.engine.transactions.counts import TransactionCounts
from mqgateway.engine.transactions.half import (
    HALF_QUEUE,
    Due,
    HalfMessage,
    as_given_up,
    as_half,
    as_resumed,
    question_record,
    renewed,
)
from mqgateway.engine.transactions.listing import GROUP, Listing
from mqgateway.engine.transactions.ops import listed
from mqgateway.engine.transactions.settled import Recent
from mqgateway.engine.transactions.unlisted import unlisted_commits
from mqgateway.engine.unique_keys import UniqueKeys

log = logging.getLogger(__name__)

HOUR_MILLIS = 3_600_000
RENEWAL_MILLIS = HOUR_MILLIS
"""Time after which a waiting half message is put again, so that its log file may be deleted."""
SPREAD_MAX = 100_000
"""Maximum distance from the end of the half queue before it is put again: a start reads as many."""
LISTED_SPREAD = 2000
"""Maximum distance from the first open half message of those listed for an administrator."""
STEPS_A_TICK = 20_000
REPEATED_MAX = 10_000
"""Number of ends without a check that are remembered, to detect repetitions."""
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


class _Held(NamedTuple):
    """Time (ms) until which a half message is skipped; with a group, only while no member is reachable."""

    until: int
    group: str | None
    topic: str = ""


class _Round:
    """One walk along the half queue."""

    __slots__ = ("cursor", "end")

    def __init__(self, cursor: int, end: int) -> None:
        self.cursor = cursor
        self.end = end


class TransactionLog:
    """The transactions of a broker. Call `load` once the store has started, `tick` periodically, `close` at
    the end while the store still accepts writes. `stats` counts half messages read or put again for a check,
    and op messages."""

    def __init__(
        self,
        store: MessageStore,
        topics: TopicTable,
        offsets: ConsumerOffsets,
        counts: TransactionCounts,
        options: BrokerOptions,
        store_options: StoreOptions,
        clock: Clock,
        unique_keys: UniqueKeys,
        store_host: bytes,
        stats: Counting = UNCOUNTED,
    ) -> None:
        self._store = store
        self._stats = stats
        self._offsets = offsets
        self.counts = counts
        self._options = options
        self._store_options = store_options
        self._clock = clock
        self._topics = topics
        self._is_flushed_at_once = store_options.flush_disk_type is FlushDiskType.SYNC_FLUSH
        self._listing = Listing(store, offsets, options, clock, unique_keys, store_host, self._put, stats)
        self._begin(0, 0)

    def _begin(self, progress: int, op_progress: int) -> None:
        self._listing.begin(progress, op_progress)
        self._settled = self._listing.settled
        # By the offset of the producer's own message: its current copy, and the last ends.
        self._newest: dict[int, int] = {}
        self._answered = Recent(self._options.max_waiting_transactions)
        self._answered_unasked = Recent(REPEATED_MAX)
        self._held: dict[int, _Held] = {}
        self._unreadable: dict[int, int] = {}
        self._round: _Round | None = None
        self._questions = 0
        self._rested_since = self._clock.monotonic()

    def load(self) -> None:
        """Resume at the stored offsets, once they and the store are loaded; read later op messages, and the
        log's end for commits that they lack."""
        self._begin(self._start_of(TRANS_HALF_TOPIC), self._start_of(TRANS_OP_HALF_TOPIC))
        self._read_ops()
        self._settled.advance()
        self._read_copies()
        self.counts.load()
        # After a clean stop too: on a full disk it could not write the last op message.
        self._read_commits()

    def stand_by(self) -> None:
        """Drop state in flight, as another broker is master; `load` finds it in the log."""
        self._begin(*self._listing.saved)

    def _read_ops(self) -> None:
        """Read op messages after the progress."""
        store, settled = self._store, self._settled
        offset, end = settled.op_progress, store.max_offset(TRANS_OP_HALF_TOPIC, HALF_QUEUE)
        while offset < end:
            units = store.consume_queue_units(TRANS_OP_HALF_TOPIC, HALF_QUEUE, offset, 64)
            if not units:
                break
            for physical_offset, size, _ in units:
                ended = listed(store.look_up(physical_offset))
                for half_offset in ended:
                    settled.add(half_offset)
                settled.listed(offset, ended)
                self._stats.got(GROUP, TRANS_OP_HALF_TOPIC, 1, size)
                offset += 1

    def _read_copies(self) -> None:
        """Find open copies: their producers may still name the originals."""
        room = self._options.max_waiting_transactions
        end = self._store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE)
        for offset in range(self._settled.progress, end):
            if offset in self._settled:
                continue
            if room == 0:
                break
            room -= 1
            stored = self._half_at(offset)[0]
            if stored is not None and (half := HalfMessage(stored)).is_copy:
                self._note_copy(half, offset)

    def _read_commits(self) -> None:
        """Find commits that were not listed."""
        settled, count = self._settled, 0
        if settled.progress >= self._store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE):
            return
        file_size = self._store_options.mapped_file_size_commit_log
        for stored in unlisted_commits(self._store, settled.progress, file_size):
            half = self.find(stored.prepared_transaction_offset)
            if half is None or half.stored.properties.get(PROPERTY_UNIQ_KEY) != stored.properties.get(
                PROPERTY_UNIQ_KEY
            ):
                continue
            is_open = half.stored.queue_offset not in settled or half.origin in self._newest
            if is_open and not self._is_answered(half):
                self._take_answer(half)
                self._listing.reach_back(stored.physical_offset)
                count += 1
        if count:
            log.info("%d transactions were committed and not listed", count)

    def _half_at(self, offset: int) -> tuple[StoredMessage | None, bool]:
        """Return a message of the half queue, or None if it is unreadable; and True if it never will be
        readable."""
        units = self._store.consume_queue_units(TRANS_HALF_TOPIC, HALF_QUEUE, offset, 1)
        if not units:
            return None, True
        return self._store.look_up(units[0][0]), units[0][0] < self._store.min_physical_offset

    def _start_of(self, topic: str) -> int:
        """Return the start in a queue; a crash may have removed its end, retention its beginning."""
        low, high = self._store.min_offset(topic, HALF_QUEUE), self._store.max_offset(topic, HALF_QUEUE)
        offset = self._offsets.query(GROUP, topic, HALF_QUEUE)
        if offset == UNKNOWN:
            return low
        if not low <= offset <= high:
            log.warning("%s resumes at %d instead of %d", topic, min(max(offset, low), high), offset)
        return min(max(offset, low), high)

    # Requests.

    def prepare(self, message: Message) -> None:
        """Turn a producer's message into a half message; call `prepared` when it is stored."""
        as_half(message)

    def prepared(self, topic: str) -> None:
        """Count a half message stored for a topic."""
        self.counts.add(topic, 1)

    def find(self, physical_offset: int) -> HalfMessage | None:
        """Return the half message at a log offset; None also if its topic was deleted since."""
        stored = self._store.look_up(physical_offset)
        if stored is None or stored.topic != TRANS_HALF_TOPIC:
            return None
        half = HalfMessage(stored)
        return None if self._topics.is_past(half.topic, physical_offset) else half

    def open_halves(self, most: int) -> list[HalfMessage]:
        """Return the oldest open half messages within `LISTED_SPREAD` offsets."""
        begin = self._settled.progress
        end = min(self._store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE), begin + LISTED_SPREAD)
        found: list[HalfMessage] = []
        for offset in range(begin, end):
            if len(found) >= most:
                break
            stored = None if offset in self._settled else self._half_at(offset)[0]
            if stored is None or self._is_answered(half := HalfMessage(stored)):
                continue
            if not self._topics.is_past(half.topic, stored.physical_offset):
                found.append(half)
        return found

    def commit(self, half: HalfMessage, message: Message) -> PutResult | None:
        """Put the committed message and settle the half message; None if its producer has settled it
        already.
        """
        if self._is_answered(half):
            return None
        result = self._put(message)
        if result.status is PutStatus.PUT_OK:
            self._take_answer(half)
        return result

    def roll_back(self, half: HalfMessage) -> bool:
        """Settle a half message without a message; return False if its producer has settled it already."""
        if self._is_answered(half):
            return False
        self._take_answer(half)
        return True

    def resume(self, given_up: StoredMessage) -> bool:
        """Put a discarded message as half message again; return False if that fails."""
        message = as_resumed(given_up)
        if message is not None and self._topics.is_past(
            HalfMessage(given_up).topic, given_up.physical_offset
        ):
            return False
        if message is None or self._put(message).status is not PutStatus.PUT_OK:
            return False
        self.prepared(HalfMessage(given_up).topic)
        return True

    def now_for(self, half: HalfMessage) -> int:
        """Return the time (ms) by the clock of the half message's own times, however it was set since."""
        return self._store.steady.now() - self._ahead(half)

    def _ahead(self, half: HalfMessage) -> int:
        """Return the lead of steady time when it was sent; a copy has the times of its original."""
        stored, position = half.stored, half.stored.physical_offset
        if half.is_copy:
            units = self._store.consume_queue_units(TRANS_HALF_TOPIC, HALF_QUEUE, half.origin, 1)
            return self._store.steady.ahead_at(units[0][0] if units else position, stored.born_timestamp)
        return self._store.steady.ahead_at(position, stored.store_timestamp)

    def _put(self, message: Message) -> PutResult:
        result = self._store.put(message)
        if self._is_flushed_at_once and result.status is PutStatus.PUT_OK:
            # No request waits for this one, but it is visible only when it is durable.
            self._store.when_flushed(result.end_offset, lambda _: None)
        return result

    def _is_answered(self, half: HalfMessage) -> bool:
        return half.origin in self._answered or half.origin in self._answered_unasked

    def _take_answer(self, half: HalfMessage) -> None:
        own, origin = half.stored.queue_offset, half.origin
        is_replaced = half.is_copy or own in self._settled
        (self._answered if is_replaced else self._answered_unasked).add(origin)
        newest = self._newest.pop(origin, own)
        self._settle(own)
        if newest != own:
            self._settle(newest)
        self.counts.add(half.topic, -1)
        if self._listing.is_full:
            self._listing.write()

    def _settle(self, offset: int) -> None:
        self._listing.add(offset)
        self._held.pop(offset, None)
        self._unreadable.pop(offset, None)

    def topic_deleted(self, topic: str) -> None:
        """Adjust to the deletion of a topic with its offsets: restart without the half topic, or write the op
        messages again."""
        self.counts.forget(topic)
        if topic == TRANS_HALF_TOPIC:
            # Recorded ends refer to half messages that are gone, and must not be read as others.
            self._begin(self._start_of(topic), self._store.max_offset(TRANS_OP_HALF_TOPIC, HALF_QUEUE))
            self._listing.commit()
        elif topic == TRANS_OP_HALF_TOPIC:
            self._listing.begin_ops(self._start_of(topic))

    # Periodic work.

    def tick(self, now: int, is_reachable: IsReachable) -> list[CheckBack]:
        """Do what is due at `now`, in steady time (ms); return the checks to send."""
        options = self._options
        elapsed = self._clock.monotonic()
        rested = (elapsed - self._rested_since) * 1000
        if self._round is None and rested >= options.transaction_check_interval:
            self._begin_round()
        questions: list[CheckBack] = []
        if self._round is not None:
            before = self._listing.count
            try:
                self._walk(self._round, now, is_reachable, questions)
            except OSError as error:
                log.error("half messages cannot be read: %s", error)
                self._end_round()
            if self._listing.count > before:
                self._listing.write()
        self._listing.tick()
        return questions

    def close(self) -> None:
        """Write pending data, while the store still accepts it."""
        self._listing.write()
        self._listing.save()
        self.counts.persist(inline=True)

    @property
    def is_walking(self) -> bool:
        """True if a round is in progress, which the next tick continues."""
        return self._round is not None

    def _begin_round(self) -> None:
        store, settled = self._store, self._settled
        low = store.min_offset(TRANS_HALF_TOPIC, HALF_QUEUE)
        if settled.progress < low:
            log.error("half messages %d to %d are deleted from the log", settled.progress, low - 1)
            settled.skip_to(low)
            self._held = {offset: held for offset, held in self._held.items() if offset >= low}
        self._settled.advance()
        self._round = _Round(settled.progress, store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE))

    def _end_round(self) -> None:
        self._round = None
        self._rested_since = self._clock.monotonic()

    def _walk(self, walk: _Round, now: int, is_reachable: IsReachable, questions: list[CheckBack]) -> None:
        """Continue a round, within the limits of one tick."""
        reads = self._options.max_transactions_checked_per_tick
        cursor = max(walk.cursor, self._settled.progress)
        last = min(walk.end, cursor + STEPS_A_TICK)
        while cursor < last and reads > 0:
            if cursor not in self._settled and not self._is_held(cursor, walk, now, is_reachable):
                reads -= 1
                if not self._look_at(cursor, walk, now, is_reachable, questions):
                    self._end_round()
                    return
            cursor += 1
        walk.cursor = cursor
        if cursor >= walk.end:
            self._end_round()

    def _is_held(self, offset: int, walk: _Round, now: int, is_reachable: IsReachable) -> bool:
        held = self._held.get(offset)
        if held is None or now >= held.until or walk.end - offset > SPREAD_MAX:
            return False
        return held.group is None or not is_reachable(held.group, held.topic)

    def _look_at(
        self, offset: int, walk: _Round, now: int, is_reachable: IsReachable, questions: list[CheckBack]
    ) -> bool:
        """Process one half message; return False to end the round."""
        stored, is_gone = self._half_at(offset)
        if stored is None:
            self._miss(offset, is_gone=is_gone)
            return True
        self._stats.got(GROUP, TRANS_HALF_TOPIC, 1, stored.size)
        half = HalfMessage(stored)
        if half.is_copy:
            if half.origin in self._answered:
                self._settle(offset)
                return True
            self._note_copy(half, offset)
        # Before each check too: the copy is later in the log than the half message.
        if self._topics.leaves_out(half.topic, stored.physical_offset):
            self._settle(offset)
            self._newest.pop(half.origin, None)
            return True
        options = self._options
        reserved = self._store_options.file_reserved_time * HOUR_MILLIS
        ahead = self._ahead(half)
        due = half.due(now - ahead, options.transaction_time_out, options.transaction_check_max, reserved)
        if due is Due.NOTHING_YET:
            return False
        if due is Due.GIVING_UP or half.queue_id is None:
            return self._give_up(half)
        too_old = stored.born_timestamp + ahead + reserved + 1
        if due is Due.LATER:
            patient_until = now + half.patience(options.transaction_time_out) - half.age(now - ahead) + 1
            return self._hold(half, walk, now, _Held(min(patient_until, too_old), None))
        if not is_reachable(half.group, half.topic):
            return self._hold(half, walk, now, _Held(too_old, half.group, half.topic))
        return self._ask(half, questions)

    def _hold(self, half: HalfMessage, walk: _Round, now: int, held: _Held) -> bool:
        """Skip a half message for now, or put it again if it would block the progress."""
        offset = half.stored.queue_offset
        stored = half.stored
        ahead = self._store.steady.ahead_at(stored.physical_offset, stored.store_timestamp)
        until = stored.store_timestamp + ahead + RENEWAL_MILLIS
        has_room = len(self._held) < self._options.max_waiting_transactions or offset in self._held
        if has_room and now < until and walk.end - offset <= SPREAD_MAX:
            self._held[offset] = held._replace(until=min(held.until, until))
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
        result = self._put(copy)
        if result.status is not PutStatus.PUT_OK:
            log.warning(
                "half message %d cannot be written again: %s", offset, result.remark or result.status.name
            )
            return None
        self._note_copy(half, result.queue_offset)
        self._settle(offset)
        return result

    def _note_copy(self, half: HalfMessage, offset: int) -> None:
        if half.origin in self._newest or len(self._newest) < self._options.max_waiting_transactions:
            self._newest[half.origin] = offset

    def _give_up(self, half: HalfMessage) -> bool:
        stored = half.stored
        self._topics.create_for_send_back(TRANS_CHECK_MAX_TIME_TOPIC, 1, PERM_READ | PERM_WRITE, 0)
        result = self._put(as_given_up(half))
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
        self._settle(stored.queue_offset)
        self._newest.pop(half.origin, None)
        self.counts.add(half.topic, -1)
        return True

    def _miss(self, offset: int, *, is_gone: bool) -> None:
        """Count a failed read of a half message."""
        attempts = self._unreadable[offset] = self._unreadable.get(offset, 0) + 1
        if is_gone or attempts >= ATTEMPTS_MAX:
            log.error("half message %d cannot be read and is skipped", offset)
            self._settle(offset)
