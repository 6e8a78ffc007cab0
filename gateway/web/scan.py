"""Looking through the queues of a topic message by message, newest or oldest first, within a budget.

Nothing says by itself which messages have a word in them, so they are read one after another. How many were
read is told, and where it stopped, so that it can go on from there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mqgateway.engine.message import PROPERTY_KEYS, PROPERTY_TAGS, StoredMessage
from mqgateway.engine.store.record import decode
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.consume.query import search_offset
from mqgateway.gateway.web.messages import body_of
from mqgateway.gateway.web.route import ApiError

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

CHUNK = 16
"""Messages read from a queue at a time."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for; empty texts are not. `queue_id` below 0 for all; times in ms, `end` 0 for now."""

    topic: str
    queue_id: int = -1
    begin: int = 0
    end: int = 0
    tag: str = ""
    key: str = ""
    property: str = ""
    text: str = ""
    newest_first: bool = True

    def fits(self, message: StoredMessage) -> bool:
        """Whether it is a message that is looked for."""
        properties = message.properties
        if self.tag and properties.get(PROPERTY_TAGS, "") != self.tag:
            return False
        if self.key and self.key not in properties.get(PROPERTY_KEYS, "").split():
            return False
        if self.property:
            name, _, value = self.property.partition("=")
            if name not in properties or (value and properties[name] != value):
                return False
        return not self.text or self.text.encode() in body_of(message)


@dataclass
class Queue:
    """What is left of one queue: offsets [begin, end), and messages read from it but not given yet."""

    queue_id: int
    begin: int
    end: int
    read: list[StoredMessage] = field(default_factory=list)

    def __len__(self) -> int:
        return max(0, self.end - self.begin) + len(self.read)


@dataclass
class Found:
    """Messages found, how many were read, how many are left, and where to go on (empty: nowhere)."""

    messages: list[StoredMessage]
    scanned: int
    left: int
    cursor: str


async def scan(
    broker: Broker,
    wanted: Wanted,
    *,
    limit: int,
    budget: int,
    cursor: str,
    breathe: Callable[[], Awaitable[None]],
) -> Found:
    """Read up to `budget` messages until `limit` are found. Raises `ApiError` for a wrong cursor."""
    queues = _resumed(cursor) if cursor else await _beginning(broker, wanted)
    found: list[StoredMessage] = []
    scanned = 0
    while scanned < budget and len(found) < limit:
        message = await _next(broker, wanted, queues)
        if message is None:
            break
        scanned += 1
        if wanted.fits(message):
            found.append(message)
        await breathe()
    left = sum(map(len, queues))
    return Found(found, scanned, left, _written(queues, wanted.newest_first) if left else "")


async def _beginning(broker: Broker, wanted: Wanted) -> list[Queue]:
    """All of the topic's queues between the two times."""
    store = broker.store
    ids = sorted(store.queues().get(wanted.topic, ()))
    queues = []
    for queue_id in ids if wanted.queue_id < 0 else [one for one in ids if one == wanted.queue_id]:
        begin, end = store.min_offset(wanted.topic, queue_id), store.max_offset(wanted.topic, queue_id)
        if begin >= end:
            continue
        if wanted.begin:
            begin = max(begin, await settled(search_offset(broker, wanted.topic, queue_id, wanted.begin)))
        if wanted.end:
            last = await settled(search_offset(broker, wanted.topic, queue_id, wanted.end, is_upper=True))
            if store.store_time(wanted.topic, queue_id, last) <= wanted.end:
                end = min(end, last + 1)
            else:
                end = begin
        queues.append(Queue(queue_id, begin, end))
    return queues


async def _next(broker: Broker, wanted: Wanted, queues: list[Queue]) -> StoredMessage | None:
    """The newest or oldest message of what is left in the queues."""
    for queue in queues:
        while not queue.read and queue.begin < queue.end:
            await _fill(broker, wanted, queue)
    waiting = [queue for queue in queues if queue.read]
    if not waiting:
        return None
    choose = max if wanted.newest_first else min
    chosen = choose(waiting, key=lambda queue: queue.read[0].store_timestamp)
    return chosen.read.pop(0)


async def _fill(broker: Broker, wanted: Wanted, queue: Queue) -> None:
    """Read the next messages of a queue; records that are gone are passed over."""
    if wanted.newest_first:
        first = max(queue.begin, queue.end - CHUNK)
        count, queue.end = queue.end - first, first
    else:
        first, count = queue.begin, min(CHUNK, queue.end - queue.begin)
        queue.begin += count
    queue.read = await settled(read_messages(broker, wanted.topic, queue.queue_id, first, count))
    if wanted.newest_first:
        queue.read.reverse()


def read_messages(broker: Broker, topic: str, queue_id: int, first: int, count: int) -> Any:
    """The messages of a queue from an offset on, or a Deferred of them: the disk is not waited for."""

    def attempt(rounds: int) -> list[StoredMessage]:
        store, may_wait = broker.store, not rounds
        units = store.consume_queue_units(topic, queue_id, first, count, may_wait=may_wait)
        records = (store.record_at(place, may_wait=may_wait) for place, _size, _code in units)
        return [decode(record) for record in records if record is not None]

    return reading(broker, attempt)


async def settled(outcome: Any) -> Any:
    """An outcome, which may be there already or be a Deferred."""
    return await outcome if hasattr(outcome, "addCallback") else outcome


def _written(queues: list[Queue], newest_first: bool) -> str:
    """What is left as a cursor; what was read ahead is read again."""
    rows = []
    for queue in queues:
        if len(queue):
            ahead = [message.queue_offset for message in queue.read]
            begin = queue.begin if newest_first or not ahead else ahead[0]
            end = ahead[0] + 1 if newest_first and ahead else queue.end
            rows.append([queue.queue_id, begin, end])
    return base64.urlsafe_b64encode(json.dumps(rows).encode()).decode()


def _resumed(cursor: str) -> list[Queue]:
    try:
        rows: list[tuple[int, int, int]] = list(json.loads(base64.urlsafe_b64decode(cursor.encode())))
        return [Queue(int(queue_id), int(begin), int(end)) for queue_id, begin, end in rows]
    except (ValueError, TypeError):
        raise ApiError(400, "the cursor is not from this search; start without one") from None
