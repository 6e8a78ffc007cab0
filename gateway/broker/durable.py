"""What the acknowledgement of a message waits for.

With ASYNC_FLUSH nothing: the road of a send stays a plain call. With SYNC_FLUSH it waits until
the log is on disk past the message; the store lets all that wait share one flush, so many sends
of one read cost one fsync. A message that says WAIT=false is acknowledged at once either way.

Standard: `CommitLog.handleDiskFlush`, `GroupCommitService`.
"""

from twisted.internet.defer import Deferred

from engine.message import PROPERTY_WAIT_STORE_MSG_OK
from engine.options import BrokerOptions, FlushDiskType, StoreOptions
from engine.store.message_store import MessageStore, PutResult, PutStatus


class Durability:
    """Decides what a put waits for, and waits; `maxSendsWaitingForFlush` bounds how many do."""

    def __init__(self, store: MessageStore, options: BrokerOptions, store_options: StoreOptions) -> None:
        self._store = store
        self._options = options
        self._is_sync = store_options.flush_disk_type is FlushDiskType.SYNC_FLUSH
        self._waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether so many wait that nothing more may be put."""
        return self._waiting >= self._options.max_sends_waiting_for_flush

    def wait(self, result: PutResult, properties: dict[str, str]) -> Deferred[PutStatus] | None:
        """None when the message may be acknowledged now, else what fires with its final status."""
        if not self._is_sync:
            return None
        if properties.get(PROPERTY_WAIT_STORE_MSG_OK, "true").lower() != "true":
            return None
        waiting: Deferred[PutStatus] = Deferred()

        def flushed(status: PutStatus) -> None:
            self._waiting -= 1
            waiting.callback(status)

        self._waiting += 1
        self._store.when_flushed(result.end_offset, flushed)
        return waiting
