"""The frame and both header forms, written down in construct.

This is the specification of what `frame.py`, `command.py` and the modules of the header forms do by hand, and
the oracle of their tests. It is about fifty times slower than they are, and strict: it knows nothing of the
tolerance towards JSON that `json_header.py` has.

    FRAME      i4 length of the payload, PAYLOAD
    PAYLOAD    i1 form (0 JSON, 1 ROCKETMQ), i3 header length, header, body
    JSON       {"code":..,"language":NAME,"version":..,"opaque":..,"flag":..,"remark":..,"extFields":{..},
               "serializeTypeCurrentRPC":"JSON"}; remark and extFields may be missing
    ROCKETMQ   i2 code, i1 language, i2 version, i4 opaque, i4 flag, i4 length and remark,
               i4 length of all fields, then each: i2 length and name, i4 length and value

All numbers are signed but the header length, and big-endian; all text is UTF-8. Both headers are parsed to,
and built from, the same members: code, language (its number), version, opaque, flag, remark, fields.
"""

import json
from typing import Any

import construct
from construct import (
    Byte,
    Container,
    ExprAdapter,
    GreedyBytes,
    GreedyRange,
    GreedyString,
    Int8sb,
    Int16sb,
    Int24ub,
    Int32sb,
    PascalString,
    Prefixed,
    Struct,
    Switch,
    Terminated,
    this,
)

from mqgateway.gateway.codec.codes import LanguageCode, SerializeType
from mqgateway.gateway.codec.errors import ProtocolError


def _json_to_members(text: bytes, _context: Any) -> Container:
    header = json.loads(text)
    return Container(
        code=header["code"],
        language=LanguageCode[header["language"]].value,
        version=header["version"],
        opaque=header["opaque"],
        flag=header["flag"],
        remark=header.get("remark"),
        fields=header.get("extFields") or {},
    )


def _members_to_json(members: Any, _context: Any) -> bytes:
    header = {
        "code": members.code,
        "language": LanguageCode(members.language).name,
        "version": members.version,
        "opaque": members.opaque,
        "flag": members.flag,
        "serializeTypeCurrentRPC": "JSON",
    }
    if members.remark is not None:
        header["remark"] = members.remark
    if members.fields:
        header["extFields"] = dict(members.fields)
    return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()


JSON_HEADER = ExprAdapter(GreedyBytes, _json_to_members, _members_to_json)

_FIELD = Struct("name" / PascalString(Int16sb, "utf8"), "value" / PascalString(Int32sb, "utf8"))

_FIELDS = ExprAdapter(
    Prefixed(Int32sb, Struct("list" / GreedyRange(_FIELD), Terminated)),
    lambda found, _context: {field.name: field.value for field in found.list},
    lambda fields, _context: {"list": [{"name": name, "value": value} for name, value in fields.items()]},
)

_REMARK = ExprAdapter(
    Prefixed(Int32sb, GreedyString("utf8")),
    lambda text, _context: text or None,
    lambda remark, _context: remark or "",
)

BINARY_HEADER = Struct(
    "code" / Int16sb,
    "language" / Int8sb,
    "version" / Int16sb,
    "opaque" / Int32sb,
    "flag" / Int32sb,
    "remark" / _REMARK,
    "fields" / _FIELDS,
)

PAYLOAD = Struct(
    "form" / Byte,
    "header"
    / Prefixed(
        Int24ub,
        Switch(
            this.form,
            {SerializeType.JSON.value: JSON_HEADER, SerializeType.ROCKETMQ.value: BINARY_HEADER},
            default=construct.Error,
        ),
    ),
    "body" / GreedyBytes,
)

FRAME = Prefixed(Int32sb, PAYLOAD)


def parse_frame(frame: bytes) -> Any:
    """Return the members form, header and body of a whole frame. Raises CodecError."""
    try:
        return FRAME.parse(frame)
    except (construct.ConstructError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProtocolError(f"no frame: {str(error).strip()}") from None
