"""Records of a log as a store has them that Apache's broker reads: batches of Kafka become messages.

A record that holds a batch whole is replaced by the messages that readers of RocketMQ get
(`store.expansion`), with the same queue offsets. An offset whose message cannot be made gets an empty message
with the property `__KLOST`, as offsets of an ordinary queue have no gaps; such batches are reported. Markers
of transactions, and records that were not committed, get empty messages too, without a report. Records of
Kafka's coordinators are left out: a broker that reads them again would go back to old offsets and
transactions. All other records stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import (
    KAFKA_COORDINATOR_TOPICS,
    PROPERTY_CRC32,
    PROPERTY_KAFKA_HEADERS_TOO_LARGE,
    PROPERTY_KAFKA_KEY_TOO_LARGE,
    PROPERTY_KAFKA_LOST,
    Message,
    StoredMessage,
    SysFlag,
    properties_text,
)
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.expansion import expand, holds_record_batch
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import (
    BLANK_SIZE,
    CRC_SIZE,
    PROPERTIES_LENGTH_MAX,
    decode,
    encode,
    fill_crc,
    properties_of,
    properties_start,
    record_size,
    topic_field,
    topic_of,
    with_room_for_crc,
)
from mqgateway.engine.upkeep.convert_transactions import TransactionOutcomes
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import place

_CRC_PROPERTY = PROPERTY_CRC32.encode() + b"\1"
_COORDINATOR_TOPICS = frozenset([topic.encode() for topic in KAFKA_COORDINATOR_TOPICS])
_TRUNCATED = frozenset((PROPERTY_KAFKA_HEADERS_TOO_LARGE, PROPERTY_KAFKA_KEY_TOO_LARGE))
_HOSTS = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_NO_RECORD = "no record of the batch has this offset"
_NOT_COMMITTED = "a record of a transaction that was not committed, or a marker"
_ADVICE = "the converted store still has the batch, which Kafka clients read from it"
_REASON_MAX = 500


def has_crc_property(record: bytes) -> bool:
    """Return True if a record ends with a checksum of all of it."""
    return record.startswith(_CRC_PROPERTY, len(record) - CRC_SIZE)


def moved(record: bytes, position: int) -> bytes:
    """Return the record as it is at another position of a log."""
    record = b"".join((record[:28], position.to_bytes(8, "big"), record[36:]))
    return fill_crc(record) if has_crc_property(record) else record


class RecordConversion:
    """Replacements for the records of one log; counts batches, their messages, offsets without one, and
    records that are left out. If `keeps_batches`, all records stay as they are."""

    def __init__(self, files: FileQueue, outcomes: TransactionOutcomes, keeps_batches: bool) -> None:
        self.findings = Findings()
        self._outcomes = outcomes
        self.batches = self.messages = self.lost = self.left_out = 0
        self._files = files
        self._keeps_batches = keeps_batches

    def of(self, record: bytes) -> Iterator[bytes]:
        """Yield the records that replace one; `moved` gives them their positions."""
        if self._keeps_batches:
            yield record
        elif topic_of(record) in _COORDINATOR_TOPICS:
            self.left_out += 1
        elif not holds_record_batch(record):
            yield record
        else:
            has_crc = has_crc_property(record)
            for each in self._expanded(record):
                yield _with_room_for_crc(each) if has_crc else each

    def _expanded(self, record: bytes) -> Iterator[bytes]:
        """Yield a record for each queue offset of a batch."""
        stored = decode(record)
        queue_offset, count = inner_batch(stored.properties) or (stored.queue_offset, 1)
        end = queue_offset + count
        problems: list[str] = []
        if self._outcomes.hides(stored):
            yield from _empty(stored, range(queue_offset, end), [_NOT_COMMITTED])
            return
        self.batches += 1
        found = expand(record, lambda _, what: problems.append(what))
        lost = 0
        for made in found:
            its_offset = int.from_bytes(made[20:28], "big")
            if not queue_offset <= its_offset < end:
                problems.append(f"a record has the offset {its_offset}")
                continue
            if len(made) + CRC_SIZE + BLANK_SIZE > self._files.file_size:
                problems.append(f"the message at {its_offset} has more bytes than a file of the log")
                continue
            if not _TRUNCATED.isdisjoint(properties_of(made)):
                problems.append(f"key or headers of the message at {its_offset} are too large, and left out")
            lost += its_offset - queue_offset
            yield from _empty(stored, range(queue_offset, its_offset), problems)
            yield made
            queue_offset = its_offset + 1
        lost += end - queue_offset
        yield from _empty(stored, range(queue_offset, end), problems)
        self.messages += count - lost
        self.lost += lost
        self._report(stored, lost, problems)

    def _report(self, stored: StoredMessage, lost: int, problems: list[str]) -> None:
        if not problems and not lost:
            return
        path, at = place(self._files, stored.physical_offset)
        what = (
            f"batch of {stored.topic} queue {stored.queue_id} from offset {stored.queue_offset} on: "
            f"{problems[0] if problems else _NO_RECORD}; {lost} of its offsets have an empty message instead"
        )
        self.findings.add(bool(problems), StorePart.LOG, path, at, what, _ADVICE if problems else "")


def _empty(stored: StoredMessage, queue_offsets: range, problems: list[str]) -> Iterator[bytes]:
    """Yield messages without a body, which tell the last problem."""
    if not queue_offsets:
        return
    text = properties_text({PROPERTY_KAFKA_LOST: (problems[-1] if problems else _NO_RECORD)[:_REASON_MAX]})
    topic, sys_flag = topic_field(stored.topic, True), stored.sys_flag & _HOSTS
    size = record_size(sys_flag, 0, len(topic[1]), len(text))
    born = max(stored.born_timestamp, 0)
    model = Message(stored.topic, stored.queue_id, b"", {}, born, stored.born_host, stored.store_host)
    for queue_offset in queue_offsets:
        places = queue_offset, stored.physical_offset, stored.store_timestamp
        yield encode(model, b"", text, topic, size, sys_flag, 0, *places)


def _with_room_for_crc(record: bytes) -> bytes:
    """Return a record with room for a checksum behind its properties, if they leave any."""
    at = properties_start(record)
    properties = with_room_for_crc(record[at:])
    if len(properties) > PROPERTIES_LENGTH_MAX:
        return record
    size = (at + len(properties)).to_bytes(4, "big")
    return b"".join((size, record[4 : at - 2], len(properties).to_bytes(2, "big"), properties))
