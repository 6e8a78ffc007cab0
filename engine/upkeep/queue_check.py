"""Check of consume queues of both kinds against the log: each record must have its unit.

`record` is called for every record in the order of the log, `finish` at the end. RocketMQ:
`CommitLogDispatcherBuildConsumeQueue`, `MultiDispatchUtils` for LMQ queues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container

from mqgateway.engine.message import (
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_INNER_MULTI_QUEUE_OFFSET,
    SCHEDULE_TOPIC,
    SysFlag,
    parse_properties,
    tags_code,
)
from mqgateway.engine.names import is_system_topic
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BATCH_UNIT_SIZE, NOT_COMPACTED
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE
from mqgateway.engine.store.dispatch_request import (
    delivery_time,
    enters_queue,
    inner_batch,
    parse_delay_levels,
)
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.unit_queue import PLACE
from mqgateway.engine.upkeep.ext_check import ADDRESS_MAX, ExtCheck
from mqgateway.engine.upkeep.findings import Findings, Progress, StorePart
from mqgateway.engine.upkeep.layout import REBUILD, Layout, find_files, read
from mqgateway.engine.upkeep.unit_check import LogExtent, UnitCheck
from mqgateway.engine.upkeep.walk import Fields

CHUNK_MAX = 3276
CHUNK_MIN = 16
_MEMORY = 32 << 20
"""Bytes of units that all queues together keep in memory."""
_CODES_MAX = 10_000
_MULTI_DISPATCH = PROPERTY_INNER_MULTI_DISPATCH.encode() + b"\x01"
_SCHEDULE_TOPIC = SCHEDULE_TOPIC.encode()
_pack = UNIT.pack

Key = tuple[bytes, int]


def last_number(files: FileQueue, unit_size: int) -> int:
    """Return the number of a queue's last unit, by binary search; -1 without any."""
    if not files.starts:
        return -1
    low, high, found = -(-files.starts[0] // unit_size), -(-files.used() // unit_size), -1
    while low < high:
        middle = (low + high) // 2
        if place_at(files, middle * unit_size)[1] > 0:
            found, low = middle, middle + 1
        else:
            high = middle
    return found


def place_at(files: FileQueue, offset: int) -> tuple[int, int]:
    """Return physical offset and size in the unit at a byte of a queue; zeros if there is none."""
    data = read(files, offset, PLACE.size)
    return PLACE.unpack(data) if len(data) == PLACE.size else (0, 0)


class QueueCheck:
    """Checks all queues that are on disk, or should be.

    `topics` are those of the store, None if unknown; `deleted` counts records of others.
    """

    def __init__(
        self, layout: Layout, findings: Findings, topics: Container[bytes] | None, progress: Progress
    ) -> None:
        self._layout = layout
        self._topics = topics
        self.deleted: Counter[bytes] = Counter()
        self.newest = -1
        """Log offset of the newest record in a queue, whether its file exists or not; set by `known_end`."""
        self._findings = findings
        self._progress = progress
        self._delays = parse_delay_levels(layout.options.message_delay_level)
        self._files = self._find(layout.queues, StorePart.QUEUE, UNIT_SIZE)
        self._batch_files = self._find(layout.batch_queues, StorePart.BATCH_QUEUE, BATCH_UNIT_SIZE)
        self._checks: dict[Key, UnitCheck] = {}
        self._batch_checks: dict[Key, UnitCheck] = {}
        self._ext: dict[Key, ExtCheck] = {}
        self._codes: dict[bytes | None, int] = {None: 0}
        self._known: LogExtent

    def _find(self, parent: str, part: StorePart, unit_size: int) -> dict[Key, FileQueue]:
        found = {}
        folders = list(self._layout.queue_folders(parent))
        for number, (topic, queue_id, folder) in enumerate(folders):
            self._progress("opening queues", number, len(folders))
            files = find_files(self._layout.pool, folder, part, self._findings, REBUILD)
            if files.starts and files.file_size % unit_size:
                what = f"has files of {files.file_size} bytes, which is not a multiple of {unit_size}"
                self._findings.error(part, folder, -1, what, REBUILD)
                files.starts.clear()
            found[topic.encode(), queue_id] = files
        return found

    def known_end(self, log_end: int) -> int:
        """Return the end of the newest record in a queue; units past the log's files are ignored."""
        newest = 0
        for unit_size, table in ((UNIT_SIZE, self._files), (BATCH_UNIT_SIZE, self._batch_files)):
            for files in table.values():
                number = last_number(files, unit_size)
                offset, size = place_at(files, number * unit_size) if number >= 0 else (0, 0)
                if offset >= 0 and offset + size <= log_end:
                    newest = max(newest, offset + size)
                self.newest = max(self.newest, offset if size else -1)
        return newest

    def start(self, log_start: int, is_damaged: Callable[[int], bool], repairs_tail: bool) -> None:
        """Begin, before the first record."""
        count = len(self._files) + len(self._batch_files) + 1
        chunk = max(CHUNK_MIN, min(CHUNK_MAX, _MEMORY // count // UNIT_SIZE))
        self._known = LogExtent(log_start, is_damaged, repairs_tail, chunk)
        for key, files in self._files.items():
            self._checks[key] = UnitCheck(files, StorePart.QUEUE, UNIT_SIZE, self._known, self._findings)
        for key, files in self._batch_files.items():
            self._batch_checks[key] = UnitCheck(
                files, StorePart.BATCH_QUEUE, BATCH_UNIT_SIZE, self._known, self._findings
            )
        for topic, queue_id, folder in self._layout.queue_folders(self._layout.ext):
            files = find_files(self._layout.pool, folder, StorePart.EXT, self._findings, "")
            ext = self._ext[topic.encode(), queue_id] = ExtCheck(files, self._findings)
            ext.check()

    def record(self, fields: Fields, tags: bytes | None, position: int, size: int) -> None:
        """Check the next record, with its tags."""
        queue_id, queue_offset, sys_flag, store_timestamp, topic, properties = fields
        if not enters_queue(sys_flag):
            return
        key = topic, queue_id
        code = self._codes.get(tags)
        if code is None:
            code = self._new_code(tags or b"")
        if topic == _SCHEDULE_TOPIC:
            parsed = parse_properties(properties.decode("utf-8", "replace"))
            code = delivery_time(parsed, store_timestamp, self._delays) or code
        check = self._checks.get(key)
        if check is None or sys_flag & SysFlag.INNER_BATCH:
            if check is None and key not in self._batch_checks and self._is_deleted(topic):
                return
            if key in self._batch_checks or sys_flag & SysFlag.INNER_BATCH:
                self._batch_record(key, fields, position, size, code)
                return
            check = self._new_check(key)
        if key in self._ext:
            code = self._ext_code(check, key, queue_offset, code, store_timestamp)
        check.expect(queue_offset, _pack(position, size, code))
        if _MULTI_DISPATCH in properties:
            self._lmq_queues(properties, position, size, code)

    def _is_deleted(self, topic: bytes) -> bool:
        """Return True if a topic without a directory is not in the table of topics either."""
        if self._topics is None or topic in self._topics or is_system_topic(topic.decode("utf-8", "replace")):
            return False
        self.deleted[topic] += 1
        return True

    def _new_code(self, tags: bytes) -> int:
        if len(self._codes) >= _CODES_MAX:
            self._codes = {None: 0}
        code = self._codes[tags] = tags_code(tags.decode("utf-8", "replace"))
        return code

    def _new_check(self, key: Key) -> UnitCheck:
        folder = f"{self._layout.queues}/{key[0].decode('utf-8', 'replace')}/{key[1]}"
        files = FileQueue(self._layout.pool, folder, self._layout.options.mapped_file_size_consume_queue)
        check = self._checks[key] = UnitCheck(files, StorePart.QUEUE, UNIT_SIZE, self._known, self._findings)
        return check

    def _ext_code(self, check: UnitCheck, key: Key, number: int, code: int, store_timestamp: int) -> int:
        """Return the expected code of a unit: its address in ext if the content there is right."""
        unit = check.read(number)
        address = UNIT.unpack(unit)[2] if len(unit) == UNIT_SIZE else 0
        if address <= ADDRESS_MAX and self._ext[key].fields(address) == (code, store_timestamp):
            return address
        return code

    def _batch_record(self, key: Key, fields: Fields, position: int, size: int, code: int) -> None:
        check = self._batch_checks.get(key)
        if check is None:
            folder = f"{self._layout.batch_queues}/{key[0].decode('utf-8', 'replace')}/{key[1]}"
            files = FileQueue(
                self._layout.pool, folder, self._layout.options.mapper_file_size_batch_consume_queue
            )
            check = self._batch_checks[key] = UnitCheck(
                files, StorePart.BATCH_QUEUE, BATCH_UNIT_SIZE, self._known, self._findings
            )
        _, queue_offset, sys_flag, store_timestamp, _, properties = fields
        parsed = parse_properties(properties.decode("utf-8", "replace"))
        base, count = inner_batch(parsed) or (queue_offset, 1)
        if check.next < 0 and position < check.since:
            return
        number = check.next if check.next >= 0 else self._number_of(check, position)
        unit = BATCH_UNIT.pack(position, size, code, store_timestamp, base, count, NOT_COMPACTED, 0)
        if sys_flag & SysFlag.INNER_BATCH or check.read(number) == unit:
            # RocketMQ skips messages that came alone.
            check.expect(number, unit)

    def _number_of(self, check: UnitCheck, position: int) -> int:
        """Return the number of the first unit with an existing record, that of the queue's first record."""
        low, high = check.first, check.files.end // BATCH_UNIT_SIZE
        while low < high:
            middle = (low + high) // 2
            offset, size = place_at(check.files, middle * BATCH_UNIT_SIZE)
            if size <= 0 or (offset >= position and offset >= self._known.log_start):
                high = middle
            else:
                low = middle + 1
        return low

    def _lmq_queues(self, properties: bytes, position: int, size: int, code: int) -> None:
        """Check the LMQ queues that exist: a setting determines whether they are written."""
        parsed = parse_properties(properties.decode("utf-8", "replace"))
        names = parsed[PROPERTY_INNER_MULTI_DISPATCH].split(",")
        offsets = parsed.get(PROPERTY_INNER_MULTI_QUEUE_OFFSET, "").split(",")
        for name, offset in zip(names, offsets, strict=False):
            check = self._checks.get((name.encode(), 0))
            if check is not None and offset.isdecimal():
                check.expect(int(offset), _pack(position, size, code))

    def finish(self, log_end: int) -> None:
        """Check what remains after the last record."""
        self._known.log_end = log_end
        checks = (*self._checks.values(), *self._batch_checks.values())
        for number, check in enumerate(checks):
            self._progress("closing queues", number, len(checks))
            check.finish()

    def topics(self) -> set[str]:
        """Return topics that have messages in the log and units for them, after `finish`."""
        checks = (*self._checks.items(), *self._batch_checks.items())
        return {topic.decode("utf-8", "replace") for (topic, _), check in checks if check.count}

    @property
    def queues(self) -> int:
        """Number of queues."""
        return len(self._checks) + len(self._batch_checks)

    @property
    def units(self) -> int:
        """Number of correct units."""
        checks = (*self._checks.values(), *self._batch_checks.values())
        return sum(check.count for check in checks) + sum(ext.count for ext in self._ext.values())

    def end_of(self, topic: str, queue_id: int) -> int | None:
        """Return a queue's end offset, after `finish`; None if there is no such queue."""
        check = self._checks.get((topic.encode(), queue_id))
        return None if check is None else max(check.next, 0)
