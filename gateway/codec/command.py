"""RemotingCommand: one request or answer, and its frame.

`decode_command` and `encode_command` choose the form of the header by its first word: JSON (`json_header`),
or ROCKETMQ (`binary_header`). `encode_response` is the fast path for answers, which a server uses for every
request. The grammar of both forms is defined in `gateway.codec.schema`, and a test proves these files equal
to it. RocketMQ: `RemotingCommand`.
"""

import struct
from collections.abc import Mapping
from typing import Any, Final, Self, TypeVar

from mqgateway.engine.extension import Outline, native
from mqgateway.gateway.codec.binary_header import binary_outline, decode_binary_header, encode_binary_header
from mqgateway.gateway.codec.codes import CURRENT_VERSION, LanguageCode, SerializeType
from mqgateway.gateway.codec.errors import HeaderTooLarge, ProtocolError
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.json_header import (
    decode_json_header,
    dump_json_header,
    json_outline,
    language_name,
    strings_in,
)

RESPONSE_FLAG: Final = 1
ONEWAY_FLAG: Final = 2

HEADER_MAX: Final = 256 * 1024
"""Default limit of a header, in bytes; a message's properties have at most 32 KB."""

FIELDS_MAX: Final = 1000
"""Default limit of the number of header fields."""

_LANGUAGE_NAMES: Final[dict[str, LanguageCode]] = {language.name: language for language in LanguageCode}
_LANGUAGE_NUMBERS: Final[dict[int, LanguageCode]] = {int(language): language for language in LanguageCode}

_HEADER_WORD: Final = struct.Struct(">I")
_FRAME_START: Final = struct.Struct(">iI")
_HEADER_LENGTH_MAX: Final = 0xFFFFFF
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
        if body_start > _SURELY_FEW and strings_in(payload[4:body_start]) > 4 * (fields_max + _OTHER_MEMBERS):
            raise _too_many(fields_max, _outline(payload, body_start, form))
        command = _decode_json(payload, body_start, fields_max)
    elif form == _ROCKETMQ:
        header = payload[4:body_start]
        code, language, version, opaque, flag, remark, fields = decode_binary_header(header, fields_max)
        command = RemotingCommand(
            code,
            language=_LANGUAGE_NUMBERS.get(language, _OTHER_LANGUAGE),
            version=version,
            opaque=opaque,
            flag=flag,
            remark=remark,
            ext_fields=fields,
            serialize_type=SerializeType.ROCKETMQ,
        )
        if fields is None:
            raise _too_many(fields_max, command)
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
    if form == _JSON:
        header = _encode_json(command)
    else:
        numbers = command.code, command.language, command.version, command.opaque, command.flag
        header = encode_binary_header(numbers, command.remark, command.ext_fields)
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
    return _frame(_JSON, dump_json_header(header), body)


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
        code, opaque, flag = binary_outline(payload[4:body_start])
        return RemotingCommand(code, opaque=opaque, flag=flag, serialize_type=SerializeType.ROCKETMQ)
    code, opaque, flag = json_outline(payload, body_start)
    return RemotingCommand(code, opaque=opaque, flag=flag)


def _decode_json(payload: bytes, end: int, fields_max: int) -> RemotingCommand:
    outline = None if native is None else native.json_header(payload, end)
    if outline is not None and outline[7] <= fields_max:
        return _of_outline(outline)
    code, language, version, opaque, flag, remark, fields = decode_json_header(payload[4:end])
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
        language=_LANGUAGE_NAMES[language_name(language)] if known is None else known,
        version=version,
        opaque=opaque,
        flag=flag,
        remark=remark,
        ext_fields=fields,
        text=text,
    )


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
    return dump_json_header(header)
