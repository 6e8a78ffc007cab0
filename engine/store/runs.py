"""Runs: consecutive records processed together, which are most of what a slave receives.

A run has plain records only: version 1, IPv4 hosts, queues whose topics have ASCII names, no transaction, no
batch in one record, and properties with only a unique key for dispatch. So its dispatch data is kept as
columns: units for each queue, and entries for the index.
"""

from __future__ import annotations

from mqgateway.engine.extension import native
from mqgateway.engine.message import (
    PROPERTY_INNER_BASE,
    PROPERTY_KAFKA_PRODUCER,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    SCHEDULE_TOPIC,
    SysFlag,
)
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.index_file import Pending
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.record import sound_parts
from mqgateway.engine.unique_keys import UNIQUE_KEY_LENGTHS, lone_unique_key

RECORDS_MAX = 1024
QUEUES_MAX = 64
"""Maximum of queues of one run; `RECORDS_MAX` is that of records."""

SPECIAL = SysFlag.TRANSACTION_MASK | SysFlag.INNER_BATCH
"""System flags of records that are dispatched one by one."""
_SCHEDULE = SCHEDULE_TOPIC.encode()
_TAGS, _KEYS, _INNER = PROPERTY_TAGS.encode(), PROPERTY_KEYS.encode(), PROPERTY_INNER_BASE.encode()
_PRODUCER = PROPERTY_KAFKA_PRODUCER.encode()

QueueUnits = tuple[bytes, int, int, int, int, int, bytes]
"""Units of one queue: topic, queue id, the queue offset of the first message, the log offsets of the first
and the last record, the store time of the last (ms), and the units.
"""
Run = tuple[int, int, int, list[QueueUnits], list[Pending]]
"""A run: size of the records in bytes, log offset and store time of the last, units, and index entries."""


class _Queue:
    """A queue's part of the run that is being built."""

    __slots__ = ("first_offset", "first_place", "last_place", "next_offset", "stored", "units")

    def __init__(self, offset: int, place: int) -> None:
        self.first_offset = self.next_offset = offset
        self.first_place = self.last_place = place
        self.stored = 0
        self.units: list[bytes] = []


def run_of(data: bytes, at: int, end: int, position: int, check_crc: bool, hashes: KeyHashes) -> Run | None:
    """Return the run of plain records at `at`, which is at `position` of the log, that end before `end`.

    Returns None if none begins there. With `check_crc` bodies are compared with their checksums.
    """
    if native is not None:
        return native.run_of(data, at, end, position, check_crc)
    queues: dict[tuple[bytes, int], _Queue] = {}
    keys: list[tuple[bytes, bytes]] = []
    places: list[tuple[int, int]] = []
    pack, begin = UNIT.pack, position
    while len(places) < RECORDS_MAX and at < end:
        parts = sound_parts(data, at, position, check_crc)
        if parts is None:
            break
        topic, queue_id, offset, sys_flag, stored, size, text = parts
        queue = queues.get((topic, queue_id))
        is_next = _may_have(topic, queue_id) if queue is None else queue.next_offset == offset
        if not is_next or at + size > end or sys_flag & SPECIAL:
            break
        key = None if says_more(text) else lone_unique_key(text)
        if key is None:
            break
        if queue is None:
            if len(queues) == QUEUES_MAX:
                break
            queue = queues[topic, queue_id] = _Queue(offset, position)
        queue.units.append(pack(position, size, 0))
        queue.next_offset, queue.last_place, queue.stored = offset + 1, position, stored
        keys.append((topic, key))
        places.append((position, stored))
        at += size
        position += size
    if not places:
        return None
    found = [
        (topic, number, one.first_offset, one.first_place, one.last_place, one.stored, b"".join(one.units))
        for (topic, number), one in queues.items()
    ]
    rows = zip(_hashes_of(keys, hashes), places, strict=True)
    pending = [(hashed, place, stored) for hashed, (place, stored) in rows]
    return position - begin, *places[-1], found, pending


def says_more(text: bytes) -> bool:
    """Return True if properties have more for dispatch than a unique key."""
    return _TAGS in text or _KEYS in text or _INNER in text or _PRODUCER in text


def _may_have(topic: bytes, queue_id: int) -> bool:
    """Return True if messages of a queue may be in a run."""
    return queue_id >= 0 and topic != _SCHEDULE and b"\0" not in topic and topic.isascii()


def _hashes_of(keys: list[tuple[bytes, bytes]], hashes: KeyHashes) -> list[int]:
    """Return the hashes of topics and keys; most runs have one topic, and keys of one length."""
    topic, first = keys[0]
    length = len(first)
    if length in UNIQUE_KEY_LENGTHS and all(one == topic and len(key) == length for one, key in keys):
        return hashes.of_unique_keys(topic.decode(), [key for _, key in keys])
    return [hashes.of_bytes(one.decode(), key) for one, key in keys]
