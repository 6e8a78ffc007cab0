"""The functions of `native*.c`: there where they were built, which is with MQGATEWAY_COMPILE=1.

Each has a form in Python, named here, which it equals and which serves where there is no extension.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from mmap import mmap
from typing import Any, Protocol, TypeVar, cast

_T = TypeVar("_T")
FieldPlan = tuple[str, str, Mapping[str, Any] | None, int, bool]
"""Name, name on the wire, texts and their values (None: the text is the value), the bits of a number (0: it
is none), and whether the field is required."""
Outline = tuple[int, str, int, int, int, str | None, bytes, int]
"""Code, language, version, opaque, flag and remark of a command, the object of its fields, and how many these
are."""


class Native(Protocol):
    """What the extension gives. Numbers have 64 bits, sizes 31; bytes are measured before they are read.

    Functions with many arguments take them by name: in a wrong order they would be taken for others."""

    def crc32(self, data: bytes | memoryview, /) -> int:
        """The checksum of bytes. `zlib.crc32`."""

    def crc32c(self, data: bytes | bytearray | memoryview, /) -> int:
        """The CRC-32C of bytes. `record_batches.crc32c.crc32c_of_crcmod`."""

    def inflate_block(
        self, data: bytes | bytearray | memoryview, at: int, size: int, /
    ) -> bytes | tuple[int, int]:
        """The bytes of a Snappy block whose elements begin there and inflate to this size; how many come
        before the first malformed element, and where that is. `record_batches.snappy.decompress_block`."""

    def inflate_frames(
        self, data: bytes | bytearray | memoryview, at: int, limit: int, /
    ) -> tuple[bytes, int]:
        """The bytes of framed Snappy blocks from `at` on, and where the first one begins that is malformed or
        beyond the limit. `record_batches.snappy.decompress_snappy`."""

    def deflate_block(self, data: bytes | bytearray | memoryview, /) -> bytes:
        """A Snappy block of at most 64 KiB. `record_batches.snappy.compress_block`."""

    def walk_records(self, data: bytes | memoryview, count: int, /) -> tuple[int, int, int, int, int, int]:
        """The number of records of a batch that are well-formed and count from 0, and where they end; the
        elements that are left of a batch's limit, the least and greatest timestamp deltas, and the first
        record without a key. `record_batches.walk.walk_records`."""

    def cut_records(
        self, data: bytes | memoryview, at: int, count: int, elements: int, records: list[Any], /
    ) -> tuple[int, int]:
        """Adds the parts of so many records from `at` on to a list, up to the first that is malformed; where
        that is, and how many of the elements are left. `record_batches.records.read_records`."""

    def ordinary_batch(
        self, data: bytes | memoryview, begin: int, end: int, /
    ) -> tuple[int, int, int, int, int, int, int] | None:
        """The count, the base and the greatest timestamp, the least and the greatest timestamp delta, the
        first record without a key (-1: none) and the producer id of the batch between two places; None where
        it is not an ordinary one. `record_batches.ordinary.ordinary_batch`."""

    def single_batch(self, frame: bytes, /) -> tuple[bytes, int, int, int] | None:
        """The bytes before the batch of a Produce request that has one, without the correlation id; that id,
        and where the batch begins and ends. None where the request is not like most.
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
        """Adds the messages of a batch's records to a list, up to a record that is not like most; how many
        records were looked at, and the offset delta of the last. `store.expansion.ExpandedBatch.messages`."""

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
        """Adds the messages of stored records to those of a batch, up to one that is not like most; where
        that is, how many were added, the bytes of their bodies, and what is known of the batch.
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
        """What is to be dispatched of plain records; None where none begins. `store.runs.run_of`."""

    def element_sizes(self, elements: bytes, /) -> list[int] | None:
        """The bytes each message takes in a client's batch; None where they do not add up. `split_batch`."""

    def batch_records(
        self, elements: bytes, head: bytes, topic: bytes, queue_offset: int, physical_offset: int, /
    ) -> bytes:
        """The records of a batch, one behind the other, whose heads are like this one. `encode_batch`."""

    def batch_from(
        self, messages: list[Any], begin: int, size_max: int, count_max: int, /
    ) -> tuple[bytes, int] | None:
        """The body of a client's batch of messages from this one on, and how many these are; None where one
        of them is not plain to see. `client.batches.batch_from`."""

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
        """Adds the messages of records to a list, up to one that is not like most; where that one is.
        `client.reading._read_plain`."""

    def unique_keys(self, elements: bytes, /) -> list[bytes] | None:
        """Unique keys of a batch's messages, where their properties say no more. `lone_unique_keys`."""

    def key_hashes(self, begin: int, keys: Sequence[bytes], /) -> list[int]:
        """Hashes of keys behind a text that has the hash `begin`. `KeyHashes.of_bytes`."""

    def key_hash(self, begin: int, key: str, /) -> int:
        """The same of a key of ASCII characters; -1 of any other. `KeyHashes.of_key`."""

    def queue_units(self, physical_offset: int, sizes: list[int], /) -> bytes:
        """Units without tags of records that lie one behind the other. `consume_queue.units_of`."""

    def index_entries(
        self,
        window: mmap | memoryview,
        slot_count: int,
        first: int,
        begin: int,
        taken: list[tuple[int, int, int]],
        /,
    ) -> tuple[bytes, int]:
        """Entries for an index file, and how many slots are new. `index_file.entries_of`."""

    def message_ids(self, store_host: bytes, physical_offsets: Sequence[int], /) -> str:
        """Ids of messages at these places, a list or tuple, none of them negative. `offset_message_ids`."""

    def slices(
        self, buffer: object, begin: int, places: Sequence[tuple[int, int, int]], /
    ) -> list[bytes | None] | None:
        """The bytes of each (anything, offset, size) of a buffer that begins there; None of what is not
        memory. `LogOnFiles.read_each`."""

    def gather(
        self, buffer: object, begin: int, end: int, places: Sequence[tuple[int, int, int]], number: int, /
    ) -> tuple[bytes, int] | None:
        """What lies at places from a number on, back to back, and how many these are; None of what is not
        memory. `gather` of `log_on_files`."""

    def property_values(self, record: bytes, marks: tuple[bytes, ...], /) -> tuple[bytes | None, ...] | None:
        """Values of properties in a record; None where it is not plain to see. `PropertyChoice.takes`."""

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
        """Adds what is wanted of records in memory, as far as decisions are known; None of what is not
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
        """The records of an answer; None where it takes a look at them. `Reader._choose`."""

    def header(self, cls: type[_T], fields: tuple[FieldPlan, ...], ext: dict[str, str], /) -> _T | None:
        """A typed header; None where a field cannot be read. `decode`, as `codec.fields` makes it."""

    def properties(self, text: str, /) -> dict[str, str] | None:
        """What a text of ASCII characters says; None for any other. `parse_properties`."""

    def properties_text(self, properties: dict[str, str], /) -> bytes | None:
        """The text of properties of ASCII characters; None of any others. `format_properties`."""

    def json_header(self, payload: bytes, end: int, /) -> Outline | None:
        """What a header of JSON says that lies in a payload from its fifth byte to `end`; None where it is
        not written as most clients do. `decode_command`."""

    def json_texts(self, text: bytes, /) -> dict[str, str]:
        """The fields that `json_header` gives. `orjson.loads`."""

    def json_typed(self, cls: type[_T], fields: tuple[FieldPlan, ...], text: bytes, /) -> _T | None:
        """The same as a typed header; None where a field cannot be read. `decode`, as for `header`."""

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
        """The frame of an answer; None where that needs more than plain characters. `encode_response`."""

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
        """A record; None where a number does not fit, or the size. `record.encode`."""


def _built() -> Native | None:
    try:
        return cast(Native, import_module("mqgateway.engine.native"))
    except ImportError:
        return None


native = _built()
