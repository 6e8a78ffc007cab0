"""Unique keys of messages: made for messages without one, and read from properties as stored.

Standard: `MessageClientIDSetter`.
"""

import struct
from collections.abc import Sequence
from typing import Final

UNIQUE_KEY_LENGTHS: Final = (32, 56)
"""Characters of the unique keys that clients make, by the length of their addresses; see `UniqueKeys`."""
_KEY_FIRST: Final = b"UNIQ_KEY\x01"
_NO_MORE: Final = frozenset((b"", b"WAIT\x01true", b"WAIT\x01true\x02"))
_HEX: Final = [f"{byte:02X}" for byte in range(256)]


def lone_unique_key(text: bytes) -> bytes | None:
    """Return the unique key, in ASCII, of a properties string that has neither tags nor keys.

    None for other strings, and where a quick look does not decide.
    """
    if text.startswith(_KEY_FIRST):
        key, _, rest = text[9:].partition(b"\x02")
        if rest in _NO_MORE and key.isalnum():
            return key  # all that clients write if the user gave a body only
    if b"TAGS\x01" in text or b"KEYS\x01" in text or b"__KPID\x01" in text:
        return None
    at = text.rfind(_KEY_FIRST)
    if at < 0 or (at > 0 and text[at - 1] != 2):
        return None
    value = text[at + 9 :].partition(b"\x02")[0]
    return value if value and value.isascii() and b"\x01" not in value else None


def lone_unique_keys(texts: Sequence[bytes]) -> tuple[bytes, ...] | None:
    """Return the unique keys of properties strings of one length that have nothing else.

    Clients write such strings for messages of which users gave a body only. The keys are of letters and
    digits and have one of `UNIQUE_KEY_LENGTHS`. None if one string differs.
    """
    first = texts[0]
    length = len(first[9:].partition(b"\x02")[0])
    if length not in UNIQUE_KEY_LENGTHS:
        return None
    heads, keys, rests = zip(
        *struct.iter_unpack(f"9s{length}s{len(first) - 9 - length}s", b"".join(texts)), strict=True
    )
    is_plain = heads.count(_KEY_FIRST) == rests.count(rests[0]) == len(texts) and (
        not rests[0] or rests[0][1:] in _NO_MORE
    )
    return keys if is_plain and b"".join(keys).isalnum() else None


class UniqueKeys:
    """Makes UNIQ_KEY values for messages that came without one.

    Layout: ip, low 2 bytes of the process id, 4 bytes that tell this maker from others in the
    process, milliseconds since the start of the month i4, counter i2; upper-case hex.
    Standard: `MessageClientIDSetter`.
    """

    def __init__(self, ip: bytes, pid: int, salt: int, month_start_millis: int) -> None:
        self._prefix = (ip + struct.pack(">HI", pid & 0xFFFF, salt & 0xFFFFFFFF)).hex().upper()
        self._month_start_millis = month_start_millis
        self._counter = 0
        self._last_millis = -1
        self._begin = ""  # of the keys of that millisecond

    def next(self, now_millis: int) -> str:
        """Return a new key, unique within the counter's period of 65,536 a millisecond."""
        if now_millis != self._last_millis:
            since = (now_millis - self._month_start_millis) & 0xFFFFFFFF
            self._begin = f"{self._prefix}{since:08X}"
            self._last_millis = now_millis
        self._counter = count = (self._counter + 1) & 0xFFFF
        return f"{self._begin}{_HEX[count >> 8]}{_HEX[count & 0xFF]}"
