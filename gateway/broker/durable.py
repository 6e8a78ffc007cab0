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
        self._waiting = 0
        self.is_awaited = store_options.flush_disk_type is FlushDiskType.SYNC_FLUSH
        """Whether any message waits at all."""

    @property
    def is_full(self) -> bool:
        """Whether so many wait that nothing more may be put."""
        return self._waiting >= self._options.max_sends_waiting_for_flush

    def awaits(self, properties: dict[str, str]) -> bool:
        """Whether a message with these properties waits; it may say that it does not want to."""
        return self.is_awaited and properties.get(PROPERTY_WAIT_STORE_MSG_OK, "true").lower() == "true"

    def wait(self, result: PutResult) -> Deferred[PutStatus]:
        """Fires with the final status of what was put."""
        waiting: Deferred[PutStatus] = Deferred()

        def flushed(status: PutStatus) -> None:
            self._waiting -= 1
            waiting.callback(status)

        self._waiting += 1
        self._store.when_flushed(result.end_offset, flushed)
        return waiting
