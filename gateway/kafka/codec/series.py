"""Arrays of structs that differ in one int32 alone, which are encoded from one of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from mqgateway.gateway.kafka.codec.schema import Message

Write = Callable[[bytearray, Any], None]
_INT32 = struct.Struct(">i")
_LAYOUTS_MAX = 64
"""Layouts of one pattern that are kept: one for each version of each message."""


class Pattern:
    """A struct for each number. `make` returns the one of a number, which is in it once, as an int32."""

    def __init__(self, make: Callable[[int], Message]) -> None:
        self.make = make
        self._parts: dict[Write, tuple[bytes, bytes]] = {}

    def parts(self, write: Write) -> tuple[bytes, bytes]:
        """Return the bytes before and after the number, as `write` encodes a struct."""
        parts = self._parts.get(write)
        if parts is None:
            zeros, ones = bytearray(), bytearray()
            write(zeros, self.make(0))
            write(ones, self.make(-1))
            at = next(at for at, (zero, one) in enumerate(zip(zeros, ones, strict=True)) if zero != one)
            if len(self._parts) >= _LAYOUTS_MAX:
                self._parts.clear()
            parts = self._parts[write] = bytes(zeros[:at]), bytes(zeros[at + _INT32.size :])
        return parts


class Series(Sequence[Any]):
    """The structs of a pattern for consecutive numbers."""

    def __init__(self, pattern: Pattern, numbers: range) -> None:
        self._pattern = pattern
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._pattern.make(number) for number in self._numbers[index]]
        return self._pattern.make(self._numbers[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._pattern.make, self._numbers)

    def encoded(self, write: Write) -> bytes:
        """Return the structs one after the other, as `write` encodes one."""
        head, tail = self._pattern.parts(write)
        pack = _INT32.pack
        return b"".join([head + pack(number) + tail for number in self._numbers])
