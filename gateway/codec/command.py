"""RemotingCommand: one request or answer, and its two header forms.

`decode_command` and `encode_command` choose the form by the header word; JSON is handled by orjson, the
binary ROCKETMQ form by struct. `encode_response` is the fast path for answers, which a server uses for every
request. The grammar of both forms is defined in `gateway.codec.schema`, and a test proves this file equal to
it. RocketMQ: `RemotingCommand`, `RemotingSerializable`, `RocketMQSerializable`.

JSON headers are read as tolerantly as by RocketMQ. Members may be missing, unknown or null, and of any type
that `engine.java_types` converts, such as a language by its number. Other types, and text that is not JSON,
are a CodecError. So are lengths in a binary header that exceed it.
"""

import json
import re
import struct
from collections.abc import Mapping
from typing import Any, Final, Self, TypeVar

import orjson

from mqgateway.engine.extension import Outline, native
from mqgateway.engine.java_types import INT_BITS, to_enum, to_integer, to_object, to_text
from mqgateway.gateway.codec.codes import CURRENT_VERSION, LanguageCode, SerializeType
from mqgateway.gateway.codec.errors import HeaderTooLarge, ProtocolError
from mqgateway.gateway.codec.fields import Header

RESPONSE_FLAG: Final = 1
ONEWAY_FLAG: Final = 2

HEADER_MAX: Final = 256 * 1024
"""Default limit of a header, in bytes; a message's properties have at most 32 KB."""

FIELDS_MAX: Final = 1000
"""Default limit of the number of header fields."""

_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_LANGUAGE_NAMES: Final[dict[str, LanguageCode]] = {language.name: language for language in LanguageCode}
_LANGUAGES: Final = tuple(language.name for language in LanguageCode)
_LANGUAGE_NUMBERS: Final[dict[int, LanguageCode]] = {int(language): language for language in LanguageCode}

_HEADER_WORD: Final = struct.Struct(">I")
_FRAME_START: Final = struct.Struct(">iI")
_BINARY_START: Final = struct.Struct(">hbhiii")  # code, language, version, opaque, flag, length of the remark
_LENGTH: Final = struct.Struct(">i")
_KEY_LENGTH: Final = struct.Struct(">h")
_HEADER_LENGTH_MAX: Final = 0xFFFFFF
_OUTLINE: Final = 4096  # bytes at either end of a JSON header that are searched for its main members
_OTHER_MEMBERS: Final = 16  # maximum members of a JSON header other than fields
_SURELY_FEW: Final = 8192  # bytes of a JSON header below which fields are counted only after parsing

# Resolved once: access to an enum member costs more than its use.
_JSON: Final = SerializeType.JSON
_ROCKETMQ: Final = SerializeType.ROCKETMQ
_OTHER_LANGUAGE: Final = LanguageCode.OTHER


_PARTS: Final = (
    "body",
    "code",
    "ext_fields",
    "flag",
    "language",
    "opaque",
    "remark",
    "serialize_type",
    "version",
)


H = TypeVar("H", bound=Header)


class RemotingCommand:
    """One request or answer.

    `code` is the request or response code, `opaque` the number that correlates an answer with its request,
    `flag` the bits RESPONSE_FLAG and ONEWAY_FLAG, `remark` the text of an answer, `ext_fields` the header
    fields as text under their wire names, `serialize_type` the form in which the header was read or is to be
    written.

    If a command was read by the extension, its fields are created on first access: those of most requests are
    read only as a typed header.
    """

    __slots__ = (
        "_fields",
        "_text",
        "body",
        "code",
        "flag",
        "language",
        "opaque",
        "remark",
        "serialize_type",
        "version",
    )

    def __init__(
        self,
        code: int,
        *,
        language: LanguageCode = LanguageCode.PYTHON,
        version: int = CURRENT_VERSION,
        opaque: int = 0,
        flag: int = 0,
        remark: str | None = None,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        serialize_type: SerializeType = SerializeType.JSON,
        text: bytes | None = None,
    ) -> None:
        """Create a command; `text` are the fields as the extension returns them, instead of `ext_fields`."""
        self.code = code
        self.language = language
        self.version = version
        self.opaque = opaque
        self.flag = flag
        self.remark = remark
        self._text = text
        self._fields = {} if ext_fields is None and text is None else ext_fields
        self.body = body
        self.serialize_type = serialize_type

    @property
    def ext_fields(self) -> dict[str, str]:
        """Header fields as text under their wire names."""
        fields = self._fields
        if fields is None:
            assert native is not None and self._text is not None
            fields = self._fields = native.json_texts(self._text)
            self._text = None  # the fields may be changed from now on
        return fields

    @ext_fields.setter
    def ext_fields(self, fields: dict[str, str]) -> None:
        self._fields = fields
        self._text = None

    def read_header(self, cls: type[H]) -> H:
        """Decode the header fields as a header of this class. Raises HeaderError."""
        text, plan = self._text, cls.__plan__
        if text is not None and plan is not None:
            assert native is not None
            header = native.json_typed(cls, plan, text)
            if header is not None:
                return header
        return cls.decode(self.ext_fields)

    @property
    def is_response(self) -> bool:
        """True if this is the answer to a request."""
        return self.flag & RESPONSE_FLAG != 0

    @property
    def is_oneway(self) -> bool:
        """True if no answer is expected."""
        return self.flag & ONEWAY_FLAG != 0

    @classmethod
    def request(
        cls,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        ext: Mapping[str, str] | None = None,
        oneway: bool = False,
    ) -> Self:
        """Create a request; `ext` is added to the fields of `header`. Its sender sets the `opaque`."""
        return cls(code, flag=ONEWAY_FLAG if oneway else 0, ext_fields=_fields(header, ext), body=body)

    @classmethod
    def response(
        cls,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        remark: str | None = None,
        ext: Mapping[str, str] | None = None,
        request: "RemotingCommand | None" = None,
    ) -> Self:
        """Create an answer, with the opaque and header form of `request`."""
        return cls(
            code,
            opaque=0 if request is None else request.opaque,
            flag=RESPONSE_FLAG,
            remark=remark,
            ext_fields=_fields(header, ext),
            body=body,
            serialize_type=SerializeType.JSON if request is None else request.serialize_type,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RemotingCommand):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _PARTS)

    def __repr__(self) -> str:
        kind = "response" if self.is_response else "oneway" if self.is_oneway else "request"
        remark = "" if self.remark is None else f" remark={self.remark!r}"
        return (
            f"<{kind} code={self.code} opaque={self.opaque} {self.language.name} version={self.version}"
            f" ext={self.ext_fields!r}{remark} body={len(self.body)} bytes>"
        )


def _fields(header: Header | None, ext: Mapping[str, str] | None) -> dict[str, str]:
    fields = {} if header is None else header.encode()
    if ext:
        fields.update(ext)
    return fields


def decode_command(
    payload: bytes, header_max: int = HEADER_MAX, fields_max: int = FIELDS_MAX
) -> RemotingCommand:
    """Decode the command in a frame without its length word.

    Raises CodecError; `HeaderTooLarge` for a header of more than `header_max` bytes or `fields_max` fields.
    """
    if len(payload) < 4:
        raise ProtocolError("a frame without header length")
    (word,) = _HEADER_WORD.unpack_from(payload)
    body_start = 4 + (word & _HEADER_LENGTH_MAX)
    if body_start > len(payload):
        raise ProtocolError(f"a header of {body_start - 4} bytes in a frame of {len(payload)}")
    form = word >> 24
    if body_start - 4 > header_max:
        text = f"a header of {body_start - 4} bytes, more than the {header_max} that maxHeaderSize allows"
        raise HeaderTooLarge(text, _outline(payload, body_start, form))
    if form == _JSON:
        if body_start > _SURELY_FEW and _strings(payload[4:body_start]) > 4 * (fields_max + _OTHER_MEMBERS):
            raise _too_many(fields_max, _outline(payload, body_start, form))
        command = _decode_json(payload, body_start, fields_max)
    elif form == _ROCKETMQ:
        command = _decode_binary(payload[4:body_start], fields_max)
    else:
        raise ProtocolError(f"unknown header form {form}")
    command.body = payload[body_start:]
    return command


def encode_command(command: RemotingCommand) -> bytes:
    """Encode the whole frame, length word included, in the command's header form.

    Raises CodecError for values that the form cannot hold: binary headers have 16 bits for code, version and
    the length of a field's name.
    """
    form = command.serialize_type
    header = _encode_json(command) if form == _JSON else _encode_binary(command)
    return _frame(form, header, command.body)


def encode_response(
    request: RemotingCommand,
    code: int,
    header_fields: dict[str, str] | None,
    body: bytes,
    remark: str | None,
) -> bytes:
    """Encode the whole frame of the answer to `request`, in the request's header form."""
    if request.serialize_type is not _JSON:
        return encode_command(
            RemotingCommand(
                code,
                opaque=request.opaque,
                flag=RESPONSE_FLAG,
                remark=remark,
                ext_fields=header_fields,
                body=body,
                serialize_type=request.serialize_type,
            )
        )
    if native is not None:
        frame = native.json_answer(code, CURRENT_VERSION, request.opaque, header_fields, remark, body)
        if frame is not None:
            return frame
    header: dict[str, Any] = {
        "code": code,
        "language": "PYTHON",
        "version": CURRENT_VERSION,
        "opaque": request.opaque,
        "flag": RESPONSE_FLAG,
        "serializeTypeCurrentRPC": "JSON",
    }
    if header_fields:
        header["extFields"] = header_fields
    if remark is not None:
        header["remark"] = remark
    return _frame(_JSON, _dump(header), body)


def _frame(form: int, header: bytes, body: bytes) -> bytes:
    header_length = len(header)
    if header_length > _HEADER_LENGTH_MAX:
        raise ProtocolError(f"a header of {header_length} bytes does not fit into 24 bits")
    return _FRAME_START.pack(4 + header_length + len(body), form << 24 | header_length) + header + body


# Oversized headers


def _too_many(fields_max: int, request: RemotingCommand) -> HeaderTooLarge:
    text = f"a header of more than the {fields_max} fields that maxHeaderFields allows"
    return HeaderTooLarge(text, request)


def _outline(payload: bytes, body_start: int, form: int) -> RemotingCommand:
    """Return the command without its fields, of a header that is too large to be read. Raises CodecError."""
    if form == _ROCKETMQ:
        if body_start < 4 + _BINARY_START.size:
            raise ProtocolError("a binary header that ends too early")
        code, _, _, opaque, flag, _ = _BINARY_START.unpack_from(payload, 4)
        return RemotingCommand(code, opaque=opaque, flag=flag, serialize_type=SerializeType.ROCKETMQ)
    # Writers of JSON headers put the fields last, or sort the members by name.
    ends = payload[4 : min(body_start, 4 + _OUTLINE)] + payload[max(4, body_start - _OUTLINE) : body_start]
    code, opaque, flag = (_member(ends, name) for name in (b"code", b"opaque", b"flag"))
    return RemotingCommand(code, opaque=opaque, flag=flag)


def _member(text: bytes, name: bytes) -> int:
    found = re.search(rb'"' + name + rb'"[ \t\n\r]*:[ \t\n\r]*(-?[0-9]{1,10})', text)
    number = _INT_MAX + 1 if found is None else int(found[1])
    if not _INT_MIN <= number <= _INT_MAX:
        raise ProtocolError(f"a header that is too large and has no {name.decode()} where it is looked for")
    return number


def _strings(text: bytes) -> int:
    """Return one to two times the number of strings in JSON: no opening quote has a backslash before it."""
    return text.count(b'"') - text.count(b'\\"')


# JSON form


def _decode_json(payload: bytes, end: int, fields_max: int) -> RemotingCommand:
    outline = None if native is None else native.json_header(payload, end)
    if outline is not None and outline[7] <= fields_max:
        return _of_outline(outline)
    text = payload[4:end]
    try:
        header = orjson.loads(text)
    except orjson.JSONDecodeError:
        header = _load_leniently(text)
    if type(header) is not dict:
        raise ProtocolError("the JSON header is not an object")
    get = header.get
    code, version, opaque, flag = get("code", 0), get("version", 0), get("opaque", 0), get("flag", 0)
    if not (
        type(code) is type(version) is type(opaque) is type(flag) is int  # a bool has another type
        and _INT_MIN <= code <= _INT_MAX
        and _INT_MIN <= version <= _INT_MAX
        and _INT_MIN <= opaque <= _INT_MAX
        and _INT_MIN <= flag <= _INT_MAX
    ):
        # One by one: compiled code mistakes an error raised within `map` for the end of the numbers.
        code, version, opaque, flag = _number(code), _number(version), _number(opaque), _number(flag)
    language = get("language", "JAVA")
    if type(language) is not str:
        language = _language_name(language)
    remark, fields = _text(get("remark")), _text_fields(get("extFields"))
    command = _of_parts(code, language, version, opaque, flag, remark, fields, None)
    if len(fields) > fields_max:
        raise _too_many(fields_max, command)
    return command


def _of_outline(outline: Outline) -> RemotingCommand:
    code, language, version, opaque, flag, remark, text, _ = outline
    return _of_parts(code, language, version, opaque, flag, remark, None, text)


def _of_parts(
    code: int,
    language: str,
    version: int,
    opaque: int,
    flag: int,
    remark: str | None,
    fields: dict[str, str] | None,
    text: bytes | None,
) -> RemotingCommand:
    known = _LANGUAGE_NAMES.get(language)
    return RemotingCommand(
        code,
        language=_LANGUAGE_NAMES[_language_name(language)] if known is None else known,
        version=version,
        opaque=opaque,
        flag=flag,
        remark=remark,
        ext_fields=fields,
        text=text,
    )


def _number(value: Any) -> int:
    try:
        return to_integer(value, INT_BITS) or 0
    except (OverflowError, ValueError):
        raise ProtocolError("code, version, opaque or flag is not a 32-bit number") from None


def _language_name(value: Any) -> str:
    """Return the name of a language given by number or by an unknown name."""
    try:
        return to_enum(value, _LANGUAGES) or "OTHER"
    except (OverflowError, ValueError):
        raise ProtocolError("the language is neither the name nor the number of a language") from None


def _text_fields(fields: Any) -> dict[str, str]:
    """Return `extFields` with every value as text, without those that are null."""
    try:
        members = to_object(fields) or {}
    except ValueError:
        raise ProtocolError("extFields is not an object") from None
    try:
        "".join(members.values())  # the cheapest test that all values are text
    except TypeError:
        return {name: text for name, value in members.items() if (text := _text(value)) is not None}
    return members


def _text(value: Any) -> str | None:
    try:
        return to_text(value)
    except ValueError:
        raise ProtocolError("the header is nested too deeply") from None


def _load_leniently(text: bytes) -> Any:
    """Parse text that RocketMQ's JSON library accepts although it is not strict JSON.

    That is malformed UTF-8 (read as U+FFFD, as in Java), unescaped control characters, and lone surrogates
    (read as `?`, which Java writes for them).
    """
    try:
        decoded = json.loads(text.decode("utf-8", "replace"), strict=False)
        return orjson.loads(json.dumps(decoded, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the header is not JSON: {error}") from None


def _encode_json(command: RemotingCommand) -> bytes:
    header: dict[str, Any] = {
        "code": command.code,
        "language": command.language._name_,  # `name` is a slower property
        "version": command.version,
        "opaque": command.opaque,
        "flag": command.flag,
        "serializeTypeCurrentRPC": "JSON",
    }
    if command.ext_fields:
        header["extFields"] = command.ext_fields
    if command.remark is not None:
        header["remark"] = command.remark
    return _dump(header)


def _dump(header: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(header)
    except TypeError as error:
        raise ProtocolError(f"a header that cannot be written as JSON: {error}") from None


# Binary form


def _decode_binary(header: bytes, fields_max: int) -> RemotingCommand:
    try:
        code, language, version, opaque, flag, remark_length = _BINARY_START.unpack_from(header)
        remark_end = _end(header, _BINARY_START.size, remark_length)
        (fields_length,) = _LENGTH.unpack_from(header, remark_end)
        fields_start = remark_end + _LENGTH.size
        fields_end = _end(header, fields_start, max(0, fields_length))
        fields = _read_fields(header, fields_start, fields_end, fields_max)
    except struct.error:
        raise ProtocolError("a binary header that ends too early") from None
    if fields is None:
        request = RemotingCommand(code, opaque=opaque, flag=flag, serialize_type=SerializeType.ROCKETMQ)
        raise _too_many(fields_max, request)
    remark = header[_BINARY_START.size : remark_end]
    return RemotingCommand(
        code,
        language=_LANGUAGE_NUMBERS.get(language, _OTHER_LANGUAGE),
        version=version,
        opaque=opaque,
        flag=flag,
        remark=remark.decode("utf-8", "replace") if remark else None,
        ext_fields=fields,
        serialize_type=SerializeType.ROCKETMQ,
    )


def _read_fields(header: bytes, position: int, end: int, fields_max: int) -> dict[str, str] | None:
    """Return the fields; None if there are too many.

    As in RocketMQ, the last field may extend past the end of the fields, but not of the header, and a field
    with an empty value is missing.
    """
    fields: dict[str, str] = {}
    left = fields_max
    while position < end:
        if left == 0:
            return None
        left -= 1
        key_start = position + 2
        key_end = key_start + _KEY_LENGTH.unpack_from(header, position)[0]
        value_start = key_end + 4
        position = value_start + _LENGTH.unpack_from(header, key_end)[0]
        if not key_start <= key_end < value_start <= position <= len(header):
            raise ProtocolError("a length in a binary header leads out of its place")
        key = header[key_start:key_end].decode("utf-8", "replace")
        if position > value_start:
            fields[key] = header[value_start:position].decode("utf-8", "replace")
        else:
            fields.pop(key, None)
    return fields


def _end(header: bytes, start: int, length: int) -> int:
    end = start + length
    if not start <= end <= len(header):
        raise ProtocolError(f"a length of {length} in a binary header leads out of it")
    return end


def _encode_binary(command: RemotingCommand) -> bytes:
    remark = (command.remark or "").encode("utf-8", "replace")
    numbers = (command.code, command.language, command.version, command.opaque, command.flag)
    try:
        fields = b"".join([_write_field(name, value) for name, value in command.ext_fields.items()])
        return b"".join(
            (_BINARY_START.pack(*numbers, len(remark)), remark, _LENGTH.pack(len(fields)), fields)
        )
    except struct.error as error:
        raise ProtocolError(f"code {command.code} does not fit into a binary header: {error}") from None


def _write_field(name: str, value: str) -> bytes:
    key = name.encode("utf-8", "replace")
    text = value.encode("utf-8", "replace")
    return _KEY_LENGTH.pack(len(key)) + key + _LENGTH.pack(len(text)) + text
