"""Dispatch: from the commit log to the views of it.

`put` leaves each stored message here. `apply` takes those that may be read (all, or with SYNC_FLUSH those
that are durable), gives them to every view and collects the arrivals. Recovery gives records that it reads to
`repeat`. RocketMQ: `DefaultMessageStore.ReputMessageService`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.dispatch_request import (
    DispatchRequest,
    KeyedBatch,
    QueuedRun,
    enters_queue,
    expanded,
)
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.views.view import View


class Dispatch:
    """Gives messages to the views in the order of the log.

    `offset` is the position up to which the log is dispatched; `last_start` and `last_timestamp` (ms) are
    those of the newest message that was put into a queue. `waiting` has the requests that `add` took and
    `apply` has still to dispatch. `reads_properties` is true if a view needs more of every record than queues
    and index do. A view that takes records must be among `views` from the beginning. In a turn views are
    called that have something to do.
    """

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self._takers = [view for view in views if view.takes_records]
        self.reads_properties = any(view.reads_properties for view in views)
        self.waiting: deque[DispatchRequest] = deque()
        self.offset = 0
        self.last_start = 0
        self.last_timestamp = 0

    def add(self, request: DispatchRequest) -> None:
        """Take the message that was stored last; `apply` dispatches it."""
        if request.producer is not None:
            for view in self.views:
                view.expect(request)
        self.waiting.append(request)

    def apply(self, confirmed: int, arrivals: list[Arrival] | None, in_parts: bool = False) -> bool:
        """Dispatch what is before `confirmed`, adding to `arrivals`. Touches no file; see `settle`.

        With `in_parts` it ends after the first part of a large batch. Returns False if there is more.
        """
        waiting = self.waiting
        run: list[DispatchRequest] = []
        is_all = is_plain = True
        last = 0
        while waiting:
            request = waiting[0]
            end = request.physical_offset + request.size
            if end > confirmed:
                break
            waiting.popleft()
            if request.queue is None or request.producer is not None:
                is_plain = False
            last = self._prepare(request, run)
            self.offset = end
            if in_parts and isinstance(request.properties, tuple) and waiting:
                is_all = False
                break
        else:
            if self.offset < confirmed:
                self.offset = confirmed
        if run:
            for view in self._takers:
                if not (is_plain and view.ignores_plain):
                    view.append(run, arrivals)
                view.last = last
        return is_all

    def _prepare(self, request: DispatchRequest, run: list[DispatchRequest]) -> int:
        """Add a request to a run, in the forms that views take; return the position of its last record."""
        properties = request.properties
        if isinstance(properties, dict):
            run.append(request)
            last = request.physical_offset
        elif isinstance(properties, QueuedRun):
            run.append(request)
            self.last_start, self.last_timestamp = properties.last, properties.pending[-1][2]
            return properties.last
        elif isinstance(properties, KeyedBatch):
            run.append(request)
            last = request.physical_offset + request.size - properties.sizes[-1]
        else:
            run += expanded(request, properties, is_keyed=not self.reads_properties)
            last = request.physical_offset + request.size - properties[-1][0]
        if request.queue is not None:
            self.last_start, self.last_timestamp = last, request.store_timestamp
        return last

    def has_waiting(self, confirmed: int) -> bool:
        """Return True if anything before `confirmed` is not dispatched yet."""
        if not self.waiting:
            return False
        first = self.waiting[0]
        return first.physical_offset + first.size <= confirmed

    def expect_again(self) -> None:
        """Have views expect what waits, and nothing else: other messages were taken back."""
        for view in self.views:
            view.expect_nothing()
            for request in self.waiting:
                if request.producer is not None:
                    view.expect(request)

    def forget(self, topic: str) -> None:
        """Let no waiting message of a topic enter a queue: its queues are deleted."""
        for request in self.waiting:
            run = request.properties
            if isinstance(run, QueuedRun):
                run.queues = [(queue, units) for queue, units in run.queues if queue.topic != topic]
            elif request.topic == topic:
                request.queue = None

    def settle(self) -> None:
        """Let views write out what has grown too long. Raises `OSError`; what was not written stays in
        memory."""
        for view in self._takers:
            if view.is_full:
                view.settle(self.last_timestamp)

    def repeat(self, message: StoredMessage, views: Sequence[View]) -> bool:
        """Give a record that was read from the log to the views that lack it; return False if one of them
        lacks records before it. Raises `OSError` as `settle` does. The first view is that of the queues."""
        follows = True
        for view in views:
            follows &= view.repeat(message)
        if enters_queue(message.sys_flag) and views[0] is self.views[0]:
            self.last_start = message.physical_offset
            self.last_timestamp = message.store_timestamp
        self.offset = message.physical_offset + message.size
        self.settle()
        return follows
