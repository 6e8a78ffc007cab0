"""The functions of `native*.c`; present if they were built, with MQGATEWAY_COMPILE=1.

Each is equal to a function in Python, named here, which is the fallback without the extension.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from mmap import mmap
from typing import Any, Protocol, TypeVar, cast

_T = TypeVar("_T")
FieldPlan = tuple[str, str, Mapping[str, Any] | None, int, bool]
"""Name, name on the wire, texts and their values (None: the text is the value), the bits of a number (0: not
a number), and whether the field is required.
"""
Outline = tuple[int, str, int, int, int, str | None, bytes, int]
"""Code, language, version, opaque, flag and remark of a command, the object of its fields, and their
number.
"""


class Native(Protocol):
    """Functions of the extension. Numbers have 64 bits, sizes 31; bounds are checked before bytes are read.
    Functions with many arguments take them by name, as their order is easily confused."""

    def crc32(self, data: bytes | memoryview, /) -> int:
        """Return the checksum of bytes. `zlib.crc32`."""

    def crc32c(self, data: bytes | bytearray | memoryview, /) -> int:
        """Return the CRC-32C of bytes. `record_batches.crc32c.crc32c_of_crcmod`."""

    def inflate_block(
        self, data: bytes | bytearray | memoryview, at: int, size: int, /
    ) -> bytes | tuple[int, int]:
        """Return the bytes of a Snappy block with elements from `at` that inflates to `size`; else the number
        of bytes before the first malformed element, and its position.
        `record_batches.snappy.decompress_block`."""

    def inflate_frames(
        self, data: bytes | bytearray | memoryview, at: int, limit: int, /
    ) -> tuple[bytes, int]:
        """Return the bytes of framed Snappy blocks from `at` on, and the begin of the first one that is
        malformed or beyond the limit. `record_batches.snappy.decompress_snappy`."""

    def deflate_block(self, data: bytes | bytearray | memoryview, /) -> bytes:
        """Return a Snappy block of at most 64 KiB. `record_batches.snappy.compress_block`."""

    def walk_records(self, data: bytes | memoryview, count: int, /) -> tuple[int, int, int, int, int, int]:
        """Return the number of a batch's records that are well-formed and numbered from 0, and their end; the
        elements left of a batch's limit, the least and greatest timestamp deltas, and the first record
        without a key. `record_batches.walk.walk_records`."""

    def cut_records(
        self, data: bytes | memoryview, at: int, count: int, elements: int, records: list[Any], /
    ) -> tuple[int, int]:
        """Add the parts of `count` records from `at` on to a list, up to the first malformed one; return its
        position, and the number of elements left. `record_batches.records.read_records`."""

    def ordinary_batch(
        self, data: bytes | memoryview, begin: int, end: int, /
    ) -> tuple[int, int, int, int, int, int, int] | None:
        """Return the count, the base and the greatest timestamp, the least and the greatest timestamp delta,
        the first record without a key (-1: none) and the producer id of the batch between two positions; None
        if it is not an ordinary one. `record_batches.ordinary.ordinary_batch`."""

    def single_batch(self, frame: bytes, /) -> tuple[bytes, int, int, int] | None:
        """Return the bytes before the batch of a Produce request with one batch, without the correlation id;
        that id, and begin and end of the batch. None for an unusual request.
        `kafka.codec.single_batch.read_single_batch`."""

    def record_starts(self, data: bytes | memoryview, at: int, count: int, /) -> bytes:
        """Return the ends of records of a batch, up to the first one that is truncated, as 64-bit numbers of
        this machine. `store.expansion.ExpandedBatch._skip`."""

    def expand_records(
        self,
        *,
        data: bytes | memoryview,
        at: int,
        count: int,
        last: int,
        largest: int,
        wanted: int,
        most: int,
        room: int,
        base_offset: int,
        base_timestamp: int,
        has_deltas: bool,
        head: bytes,
        topic: bytes,
        key: bytes,
        found: list[tuple[int, int, int, bytes]],
    ) -> tuple[int, int]:
        """Add the messages of a batch's records to a list, up to an unusual record; return the number of
        records read, and the offset delta of the last. `store.expansion.ExpandedBatch.messages`."""

    def add_messages(
        self,
        *,
        data: bytes,
        at: int,
        least: int,
        most: int,
        room: int,
        base_offset: int,
        base_timestamp: int,
        max_timestamp: int,
        is_empty: bool,
        records: bytearray,
    ) -> tuple[int, int, int, int, int, int, int]:
        """Add the messages of stored records to those of a batch, up to an unusual one; return its position,
        the number added, the bytes of their bodies, and the batch's statistics.
        `record_batches.mapping.BatchBuilder.add`."""

    def run_of(
        self, data: bytes, at: int, end: int, position: int, check_crc: bool, /
    ) -> (
        tuple[
            int,
            int,
            int,
            list[tuple[bytes, int, int, int, int, int, bytes]],
            list[tuple[int, int, int]],
        ]
        | None
    ):
        """Return the dispatch data of plain records; None if none begins there. `store.runs.run_of`."""

    def record_rows(
        self, data: bytes, at: int, end: int, position: int, most: int, /
    ) -> tuple[list[tuple[bytes, int, int, int, int, int, int, tuple[int, ...]]], int]:
        """Return the rows of at most `most` plain records, and where they end. `tier.rows.RowReader.rows`."""

    def element_sizes(self, elements: bytes, /) -> list[int] | None:
        """Return the bytes of each message in a client's batch; None if lengths are inconsistent, and if a
        message may have the property of a Kafka producer. `split_batch`."""

    def batch_records(
        self, elements: bytes, head: bytes, topic: bytes, queue_offset: int, physical_offset: int, /
    ) -> bytes:
        """Return the concatenated records of a batch, whose heads are like `head`. `encode_batch`."""

    def batch_from(
        self, messages: list[Any], begin: int, size_max: int, count_max: int, /
    ) -> tuple[bytes, int] | None:
        """Return the body of a client's batch of messages from `begin` on, and their number; None if one of
        them is unusual. `client.batches.batch_from`."""

    def plain_messages(
        self,
        cls: type[_T],
        queue_of: Callable[[str, str, int], Any],
        broker_name: str,
        added: tuple[Mapping[str, str], ...],
        body: bytes,
        at: int,
        messages: list[_T],
        /,
    ) -> int:
        """Add the messages of records to a list, up to an unusual one; return its position.
        `client.reading._read_plain`."""

    def unique_keys(self, elements: bytes, /) -> list[bytes] | None:
        """Return unique keys of a batch's messages, if their properties have no more. `lone_unique_keys`."""

    def key_hashes(self, begin: int, keys: Sequence[bytes], /) -> list[int]:
        """Return hashes of keys after a text with the hash `begin`. `KeyHashes.of_bytes`."""

    def key_hash(self, begin: int, key: str, /) -> int:
        """Return the hash of a key of ASCII characters; -1 for any other. `KeyHashes.of_key`."""

    def queue_units(self, physical_offset: int, sizes: list[int], /) -> bytes:
        """Return units, without tags codes, of consecutive records. `consume_queue.units_of`."""

    def index_entries(
        self,
        window: mmap | memoryview,
        slot_count: int,
        first: int,
        begin: int,
        taken: list[tuple[int, int, int]],
        /,
    ) -> tuple[bytes, int]:
        """Return entries for an index file, and the number of new slots. `index_file.entries_of`."""

    def message_ids(self, store_host: bytes, physical_offsets: Sequence[int], /) -> str:
        """Return ids of messages at offsets, a list or tuple, none of them negative. `offset_message_ids`."""

    def slices(
        self, buffer: object, begin: int, places: Sequence[tuple[int, int, int]], /
    ) -> list[bytes | None] | None:
        """Return the bytes of each (anything, offset, size) of a buffer that begins at `begin`; None if it is
        not memory. `LogOnFiles.read_each`."""

    def gather(
        self, buffer: object, begin: int, end: int, places: Sequence[tuple[int, int, int]], number: int, /
    ) -> tuple[bytes, int] | None:
        """Return the concatenated bytes at places from `number` on, and their count; None if the buffer is
        not memory. `gather` of `log_on_files`."""

    def property_values(self, record: bytes, marks: tuple[bytes, ...], /) -> tuple[bytes | None, ...] | None:
        """Return values of properties in a record; None if ambiguous. `PropertyChoice.takes`."""

    def take_known(
        self,
        *,
        buffer: object,
        begin: int,
        end: int,
        units: bytes | bytearray,
        first: int,
        number: int,
        marks: tuple[bytes, ...],
        known: dict[tuple[bytes | None, ...], bool],
        records: list[bytes],
        offsets: list[int],
        total: int,
        limits: tuple[int, int, int, int, int, int, int, int],
    ) -> tuple[int, int, int, bool] | None:
        """Add matching records in memory, as far as decisions are cached; return None if the buffer is not
        memory. `Reader._get_accepted`."""

    def choose(
        self,
        *,
        units: bytes | bytearray,
        offset: int,
        codes: frozenset[int] | None,
        oldest: int,
        largest: int,
        fresh_from: int,
        fresh_count: int,
        fresh_bytes: int,
        old_count: int,
        old_bytes: int,
        address_max: int,
    ) -> tuple[list[tuple[int, int, int]], int, bool] | None:
        """Return the records of a response; None if records have to be read for it. `Reader._choose`."""

    def header(self, cls: type[_T], fields: tuple[FieldPlan, ...], ext: dict[str, str], /) -> _T | None:
        """Return a typed header; None if a field cannot be parsed. `decode`, as `codec.fields` makes it."""

    def properties(self, text: str, /) -> dict[str, str] | None:
        """Return the properties of a text of ASCII characters; None for any other. `parse_properties`."""

    def properties_text(self, properties: dict[str, str], /) -> bytes | None:
        """Return the text of properties of ASCII characters; None for any others. `format_properties`."""

    def json_header(self, payload: bytes, end: int, /) -> Outline | None:
        """Return the content of a JSON header, from a payload's fifth byte to `end`; None if it is not
        written as by most clients. `decode_command`."""

    def json_texts(self, text: bytes, /) -> dict[str, str]:
        """Return the fields of `json_header`. `orjson.loads`."""

    def json_typed(self, cls: type[_T], fields: tuple[FieldPlan, ...], text: bytes, /) -> _T | None:
        """Return the fields of `json_header` as a typed header; None if a field cannot be parsed. `decode`,
        as for `header`."""

    def json_answer(
        self,
        code: int,
        version: int,
        opaque: int,
        fields: dict[str, str] | None,
        remark: str | None,
        body: bytes,
        /,
    ) -> bytes | None:
        """Return the frame of a response; None if that needs more than plain characters.

        `encode_response`.
        """

    def record(
        self,
        *,
        size: int,
        queue_id: int,
        flag: int,
        queue_offset: int,
        physical_offset: int,
        sys_flag: int,
        born_timestamp: int,
        born_host: bytes,
        store_timestamp: int,
        store_host: bytes,
        reconsume_times: int,
        prepared: int,
        body: bytes,
        topic: tuple[int, bytes],
        properties: bytes,
    ) -> bytes | None:
        """Return a record; None if a number or the size does not fit. `record.encode`."""


def _built() -> Native | None:
    try:
        return cast(Native, import_module("mqgateway.engine.native"))
    except ImportError:
        return None


native = _built()
