"""Indexes as version 1 of their format had them, without keys."""

import hashlib
import struct

from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.tier.format.index import decode_header

CRC = struct.Struct(">I")


def without_keys(index: bytes) -> bytes:
    """Return an index of version 2 in version 1."""
    header = decode_header(index, "i")
    pages_size = CRC.size + 8 * -(-header.keys_size // (8 * 4096))
    head = index[header.head_at : header.units_at - pages_size]
    fixed = b"MQGTIDX\x01" + index[8:132] + struct.pack(">II", len(head), crc32c(head)) + index[140:156]
    parts = fixed + CRC.pack(crc32c(fixed)) + head + index[header.units_at : header.keys_at]
    return parts + hashlib.sha256(parts).digest()
