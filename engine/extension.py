"""The functions of `native.c`: there where they were built, which is with MQGATEWAY_COMPILE=1.

Each has a form in Python, named here, which it equals and which serves where there is no extension.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from mmap import mmap
from typing import Any, Protocol, TypeVar, cast

_T = TypeVar("_T")
FieldPlan = tuple[str, str, Mapping[str, Any] | None, int, bool]
"""Name, name on the wire, texts and their values (None: the text is the value), the bits of a number (0: it
is none), and whether the field is required."""


class Native(Protocol):
    """What the extension gives. Numbers have 64 bits, sizes 31; bytes are measured before they are read."""

    def element_sizes(self, elements: bytes, /) -> list[int] | None:
        """The bytes each message takes in a client's batch; None where they do not add up. `split_batch`."""

    def batch_records(
        self, elements: bytes, head: bytes, topic: bytes, queue_offset: int, physical_offset: int, /
    ) -> bytes:
        """The records of a batch, one behind the other, whose heads are like this one. `encode_batch`."""

    def unique_keys(self, elements: bytes, /) -> list[bytes] | None:
        """Unique keys of a batch's messages, where their properties say no more. `lone_unique_keys`."""

    def key_hashes(self, begin: int, keys: Sequence[bytes], /) -> list[int]:
        """Hashes of keys behind a text that has the hash `begin`. `KeyHashes.of_bytes`."""

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

    def header(self, cls: type[_T], fields: tuple[FieldPlan, ...], ext: dict[str, str], /) -> _T | None:
        """A typed header; None where a field cannot be read. `decode`, as `codec.fields` makes it."""


def _built() -> Native | None:
    try:
        return cast(Native, import_module("mqgateway.engine.native"))
    except ImportError:
        return None


native = _built()
