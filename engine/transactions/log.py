"""Open transactions: storing half messages, ending them, checking those that are not ended.

The half messages are in `open_halves`; `checks` asks producers about those that are not ended. Settled ones
are listed in op messages (ends by producers are batched for up to `transactionOpBatchInterval`), so a start
finds them. The progress, up to which everything is settled, is in consumerOffset.json as consumed by
CID_RMQ_SYS_TRANS. All files are RocketMQ's: either broker resumes from the other.

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

from mqgateway.engine.clock import Clock
from mqgateway.engine.counting import UNCOUNTED, Counting
from mqgateway.engine.message import (
    PROPERTY_UNIQ_KEY,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    Message,
    StoredMessage,
)
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tables.offsets import UNKNOWN, ConsumerOffsets
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.engine.transactions.checks import CheckBack, CheckRounds, IsReachable
from mqgateway.engine.transactions.counts import TransactionCounts
from mqgateway.engine.transactions.half import HALF_QUEUE, HalfMessage, as_half, as_resumed
from mqgateway.engine.transactions.listing import GROUP
from mqgateway.engine.transactions.open_halves import OpenHalves
from mqgateway.engine.transactions.ops import listed
from mqgateway.engine.transactions.unlisted import unlisted_commits
from mqgateway.engine.unique_keys import UniqueKeys

log = logging.getLogger(__name__)

LISTED_SPREAD = 2000
"""Maximum distance from the first open half message of those listed for an administrator."""


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
        self._log_file_size = store_options.mapped_file_size_commit_log
        self._topics = topics
        self._halves = OpenHalves(
            store, offsets, counts, options, store_options, clock, unique_keys, store_host, stats
        )
        self._checks = CheckRounds(self._halves, store, topics, options, store_options, clock, stats)

    def _begin(self, progress: int, op_progress: int) -> None:
        self._halves.begin(progress, op_progress)
        self._checks.begin()

    def load(self) -> None:
        """Resume at the stored offsets, once they and the store are loaded; read later op messages, and the
        log's end for commits that they lack."""
        self._begin(self._start_of(TRANS_HALF_TOPIC), self._start_of(TRANS_OP_HALF_TOPIC))
        self._read_ops()
        self._halves.settled.advance()
        self._read_copies()
        self.counts.load()
        # After a clean stop too: on a full disk it could not write the last op message.
        self._read_commits()

    def stand_by(self) -> None:
        """Drop state in flight, as another broker is master; `load` finds it in the log."""
        self._begin(*self._halves.listing.saved)

    def _read_ops(self) -> None:
        """Read op messages after the progress."""
        store, settled = self._store, self._halves.settled
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
        for offset in range(self._halves.settled.progress, end):
            if offset in self._halves.settled:
                continue
            if room == 0:
                break
            room -= 1
            stored = self._halves.at(offset)[0]
            if stored is not None and (half := HalfMessage(stored)).is_copy:
                self._halves.note_copy(half, offset)

    def _read_commits(self) -> None:
        """Find commits that were not listed."""
        settled, count = self._halves.settled, 0
        if settled.progress >= self._store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE):
            return
        for stored in unlisted_commits(self._store, settled.progress, self._log_file_size):
            half = self.find(stored.prepared_transaction_offset)
            if half is None or half.stored.properties.get(PROPERTY_UNIQ_KEY) != stored.properties.get(
                PROPERTY_UNIQ_KEY
            ):
                continue
            is_open = half.stored.queue_offset not in settled or half.origin in self._halves.newest
            if is_open and not self._halves.is_answered(half):
                self._halves.take_answer(half)
                self._halves.listing.reach_back(stored.physical_offset)
                count += 1
        if count:
            log.info("%d transactions were committed and not listed", count)

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
        begin = self._halves.settled.progress
        end = min(self._store.max_offset(TRANS_HALF_TOPIC, HALF_QUEUE), begin + LISTED_SPREAD)
        found: list[HalfMessage] = []
        for offset in range(begin, end):
            if len(found) >= most:
                break
            stored = None if offset in self._halves.settled else self._halves.at(offset)[0]
            if stored is None or self._halves.is_answered(half := HalfMessage(stored)):
                continue
            if not self._topics.is_past(half.topic, stored.physical_offset):
                found.append(half)
        return found

    def commit(self, half: HalfMessage, message: Message) -> PutResult | None:
        """Put the committed message and settle the half message; None if its producer has settled it
        already.
        """
        if self._halves.is_answered(half):
            return None
        result = self._halves.put(message)
        if result.status is PutStatus.PUT_OK:
            self._halves.take_answer(half)
        return result

    def roll_back(self, half: HalfMessage) -> bool:
        """Settle a half message without a message; return False if its producer has settled it already."""
        if self._halves.is_answered(half):
            return False
        self._halves.take_answer(half)
        return True

    def resume(self, given_up: StoredMessage) -> bool:
        """Put a discarded message as half message again; return False if that fails."""
        message = as_resumed(given_up)
        if message is not None and self._topics.is_past(
            HalfMessage(given_up).topic, given_up.physical_offset
        ):
            return False
        if message is None or self._halves.put(message).status is not PutStatus.PUT_OK:
            return False
        self.prepared(HalfMessage(given_up).topic)
        return True

    def now_for(self, half: HalfMessage) -> int:
        """Return the time (ms) by the clock of the half message's own times, however it was set since."""
        return self._store.steady.now() - self._halves.ahead(half)

    def topic_deleted(self, topic: str) -> None:
        """Adjust to the deletion of a topic with its offsets: restart without the half topic, or write the op
        messages again."""
        self.counts.forget(topic)
        if topic == TRANS_HALF_TOPIC:
            # Recorded ends refer to half messages that are gone, and must not be read as others.
            self._begin(self._start_of(topic), self._store.max_offset(TRANS_OP_HALF_TOPIC, HALF_QUEUE))
            self._halves.listing.commit()
        elif topic == TRANS_OP_HALF_TOPIC:
            self._halves.listing.begin_ops(self._start_of(topic))

    # Periodic work.

    def tick(self, now: int, is_reachable: IsReachable) -> list[CheckBack]:
        """Do what is due at `now`, in steady time (ms); return the checks to send."""
        return self._checks.tick(now, is_reachable)

    @property
    def is_walking(self) -> bool:
        """True if a round of checks is in progress, which the next tick continues."""
        return self._checks.is_walking

    def close(self) -> None:
        """Write pending data, while the store still accepts it."""
        self._halves.listing.write()
        self._halves.listing.save()
        self.counts.persist(inline=True)
