"""Messages as JSON: fields, and the body as text or hexadecimal digits, up to a maximum size. Pure."""

from __future__ import annotations

import json
from typing import Any

from mqgateway.engine.inflating import LZ4_BODY, ZSTD_BODY
from mqgateway.engine.message import (
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_KEY,
    StoredMessage,
    SysFlag,
    format_host,
)

BODY_SHOWN_MAX = 64 * 1024
PREVIEW_CHARACTERS = 120
WHOLE_MAX = 16 * 1024**2
"""Maximum size of a decompressed body, in bytes. A larger body is shown as it is stored."""

_CODECS = {LZ4_BODY: "LZ4", ZSTD_BODY: "ZSTD"}


def row(message: StoredMessage) -> dict[str, Any]:
    """Return a message for a list: location, times, keys, tags, and the beginning of its body."""
    text, form, _ = _shown(message, PREVIEW_CHARACTERS * 4)
    return {**_place(message), "preview": text[:PREVIEW_CHARACTERS], "form": form}


def whole(message: StoredMessage, most: int = BODY_SHOWN_MAX) -> dict[str, Any]:
    """Return all fields of a message, with its body up to `most` bytes."""
    text, form, is_whole = _shown(message, most)
    return {
        **_place(message),
        "bornTimestamp": message.born_timestamp,
        "bornHost": format_host(message.born_host),
        "storeHost": format_host(message.store_host),
        "physicalOffset": message.physical_offset,
        "flag": message.flag,
        "sysFlag": message.sys_flag,
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_transaction_offset,
        "bodyCrc": message.body_crc,
        "codec": codec_of(message),
        "properties": dict(sorted(message.properties.items())),
        "body": text,
        "form": form,
        "isWhole": is_whole,
    }


def _place(message: StoredMessage) -> dict[str, Any]:
    properties = message.properties
    return {
        "id": message.message_id,
        "uniqueKey": properties.get(PROPERTY_UNIQ_KEY, ""),
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "storeTimestamp": message.store_timestamp,
        "tags": properties.get(PROPERTY_TAGS, ""),
        "keys": properties.get(PROPERTY_KEYS, ""),
        "bytes": len(message.body),
    }


def codec_of(message: StoredMessage) -> str:
    """Return the name of the compression of the stored body, empty if it is shown as it is stored."""
    if body_of(message) is message.body:
        return ""
    return _CODECS.get((message.sys_flag & SysFlag.COMPRESSION_TYPE_MASK) >> 8, "ZLIB")


def body_of(message: StoredMessage) -> bytes:
    """Return the decompressed body; the stored one if it cannot be decompressed."""
    if not message.sys_flag & SysFlag.COMPRESSED:
        return message.body
    from mqgateway.gateway.client.compression import decompress  # loads the whole client
    from mqgateway.gateway.client.errors import ClientError

    try:
        return decompress(message.body, message.sys_flag, WHOLE_MAX)
    except ClientError:
        return message.body


def _shown(message: StoredMessage, most: int) -> tuple[str, str, bool]:
    """Return the text of the body, its form (json, text, hex), and True if it is complete."""
    body = body_of(message)
    part = body[:most]
    try:
        text = part.decode()
    except UnicodeDecodeError as error:
        if error.start < len(part) - 3 or len(body) <= most:  # else only the last character was cut
            return part.hex(), "hex", len(body) <= most
        text = part[: error.start].decode()
    if any(ord(letter) < 32 and letter not in "\t\r\n" for letter in text):
        return part.hex(), "hex", len(body) <= most
    return text, "json" if len(body) <= most and _is_json(text) else "text", len(body) <= most


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
