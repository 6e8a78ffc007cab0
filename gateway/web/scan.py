"""Search of the queues of a topic, message by message, newest or oldest first, within a budget.

Bodies and properties have no index, so messages are read one after another. The result has the number of
messages that were read, and a cursor from which the search continues.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mqgateway.engine.message import PROPERTY_KEYS, PROPERTY_TAGS, StoredMessage
from mqgateway.gateway.web.messages import body_of
from mqgateway.gateway.web.route import ApiError
from mqgateway.gateway.web.search_expressions import SearchExpression

if TYPE_CHECKING:
    from mqgateway.gateway.broker.operations import Operations, Permit

CHUNK = 16
"""Messages read from a queue at a time."""


@dataclass(frozen=True)
class SearchCriteria:
    """Criteria of a search; empty texts match any. `queue_id` below 0: all; times in ms, `end` 0 for now."""

    topic: str
    queue_id: int = -1
    begin: int = 0
    end: int = 0
    tag: str = ""
    key: str = ""
    property: str = ""
    text: str = ""
    expression: SearchExpression | None = None
    newest_first: bool = True

    def fits(self, message: StoredMessage) -> bool:
        """Return True if a message matches."""
        properties = message.properties
        if self.tag and properties.get(PROPERTY_TAGS, "") != self.tag:
            return False
        if self.key and self.key not in properties.get(PROPERTY_KEYS, "").split():
            return False
        if self.property:
            name, _, value = self.property.partition("=")
            if name not in properties or (value and properties[name] != value):
                return False
        if self.expression is not None and not self.expression.matches(message):
            return False
        return not self.text or self.text.encode() in body_of(message)


@dataclass
class ScannedQueue:
    """The rest of one queue: offsets [begin, end), and messages read from it but not returned yet."""

    queue_id: int
    begin: int
    end: int
    read: list[StoredMessage] = field(default_factory=list)

    def __len__(self) -> int:
        return max(0, self.end - self.begin) + len(self.read)


@dataclass
class SearchResult:
    """Messages found, and the numbers of those read and left.

    `start` is a cursor to search the same messages again, `cursor` one to continue, empty at the end.
    """

    messages: list[StoredMessage]
    scanned: int
    left: int
    start: str
    cursor: str


@dataclass(frozen=True)
class QueueSource:
    """The broker whose queues are read, and the permit to query it."""

    operations: Operations
    permit: Permit


async def scan(
    source: QueueSource,
    wanted: SearchCriteria,
    *,
    limit: int,
    budget: int,
    cursor: str,
    breathe: Callable[[], Awaitable[None]],
) -> SearchResult:
    """Read up to `budget` messages until `limit` are found. Raises `ApiError` for a wrong cursor."""
    queues = await beginning(source, wanted, cursor)
    start = cursor or _written(queues, wanted.newest_first)
    found: list[StoredMessage] = []
    scanned = 0
    while scanned < budget and len(found) < limit:
        message = await next_message(source, wanted, queues)
        if message is None:
            break
        scanned += 1
        if wanted.fits(message):
            found.append(message)
        await breathe()
    left = sum(map(len, queues))
    return SearchResult(found, scanned, left, start, _written(queues, wanted.newest_first) if left else "")


async def beginning(source: QueueSource, wanted: SearchCriteria, cursor: str) -> list[ScannedQueue]:
    """Return the queues of a cursor, without one all of the topic's between the two times.

    Raises `ApiError` for a wrong cursor.
    """
    if cursor:
        return _resumed(cursor)
    offsets, permit, topic = source.operations.offsets, source.permit, wanted.topic
    ids = source.operations.topics.queues(topic)
    queues = []
    for queue_id in ids if wanted.queue_id < 0 else [one for one in ids if one == wanted.queue_id]:
        begin, end = offsets.range(topic, queue_id)
        if begin >= end:
            continue
        if wanted.begin:
            first = offsets.at_time(permit, topic, queue_id, wanted.begin, is_mapped=False)
            begin = max(begin, await settled(first))
        if wanted.end:
            last = await settled(
                offsets.at_time(permit, topic, queue_id, wanted.end, is_upper=True, is_mapped=False)
            )
            is_within = offsets.store_time(topic, queue_id, last) <= wanted.end
            end = min(end, last + 1) if is_within else begin
        queues.append(ScannedQueue(queue_id, begin, end))
    return queues


async def next_message(
    source: QueueSource, wanted: SearchCriteria, queues: list[ScannedQueue]
) -> StoredMessage | None:
    """Return the newest or oldest message of what is left in the queues."""
    for queue in queues:
        while not queue.read and queue.begin < queue.end:
            await _fill(source, wanted, queue)
    waiting = [queue for queue in queues if queue.read]
    if not waiting:
        return None
    choose = max if wanted.newest_first else min
    chosen = choose(waiting, key=lambda queue: queue.read[0].store_timestamp)
    return chosen.read.pop(0)


async def _fill(source: QueueSource, wanted: SearchCriteria, queue: ScannedQueue) -> None:
    """Read the next messages of a queue; records that are gone are passed over."""
    if wanted.newest_first:
        first = max(queue.begin, queue.end - CHUNK)
        count, queue.end = queue.end - first, first
    else:
        first, count = queue.begin, min(CHUNK, queue.end - queue.begin)
        queue.begin += count
    messages = source.operations.queries.messages
    queue.read = await settled(messages(source.permit, wanted.topic, queue.queue_id, first, first + count))
    if wanted.newest_first:
        queue.read.reverse()


async def settled(outcome: Any) -> Any:
    """Return an outcome, which may be there already or be a Deferred."""
    return await outcome if hasattr(outcome, "addCallback") else outcome


def _written(queues: list[ScannedQueue], newest_first: bool) -> str:
    """Return a cursor for the rest; messages that were read ahead are read again."""
    rows = []
    for queue in queues:
        if len(queue):
            ahead = [message.queue_offset for message in queue.read]
            begin = queue.begin if newest_first or not ahead else ahead[0]
            end = ahead[0] + 1 if newest_first and ahead else queue.end
            rows.append([queue.queue_id, begin, end])
    return base64.urlsafe_b64encode(json.dumps(rows).encode()).decode()


def _resumed(cursor: str) -> list[ScannedQueue]:
    try:
        rows: list[tuple[int, int, int]] = list(json.loads(base64.urlsafe_b64decode(cursor.encode())))
        return [ScannedQueue(int(queue_id), int(begin), int(end)) for queue_id, begin, end in rows]
    except (ValueError, TypeError):
        raise ApiError(400, "the cursor is not from this search; start without one") from None
