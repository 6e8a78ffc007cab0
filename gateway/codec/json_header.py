"""Headers of remoting commands as JSON.

They are read as tolerantly as by RocketMQ. Members may be missing, unknown or null, and of any type that
`engine.java_types` converts, such as a language by its number. Other types, and text that is not JSON, are a
CodecError. RocketMQ: `RemotingSerializable`.
"""

import json
import re
from typing import Any, Final

import orjson

from mqgateway.engine.java_types import INT_BITS, to_enum, to_integer, to_object, to_text
from mqgateway.gateway.codec.codes import LanguageCode
from mqgateway.gateway.codec.errors import ProtocolError

_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_LANGUAGES: Final = tuple(language.name for language in LanguageCode)
_OUTLINE: Final = 4096  # bytes at either end of a header that are searched for its main members

JsonHeader = tuple[int, str, int, int, int, str | None, dict[str, str]]
"""Code, language, version, opaque, flag, remark and fields. The language is a text that may be no name."""


def decode_json_header(text: bytes) -> JsonHeader:
    """Read a header. Raises CodecError."""
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
        language = language_name(language)
    return code, language, version, opaque, flag, _text(get("remark")), _text_fields(get("extFields"))


def _number(value: Any) -> int:
    try:
        return to_integer(value, INT_BITS) or 0
    except (OverflowError, ValueError):
        raise ProtocolError("code, version, opaque or flag is not a 32-bit number") from None


def language_name(value: Any) -> str:
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


def dump_json_header(header: dict[str, Any]) -> bytes:
    """Write the members of a header. Raises CodecError."""
    try:
        return orjson.dumps(header)
    except TypeError as error:
        raise ProtocolError(f"a header that cannot be written as JSON: {error}") from None


def json_outline(payload: bytes, body_start: int) -> tuple[int, int, int]:
    """Return code, opaque and flag of a header that is too large to be read. Raises CodecError."""
    # Writers of JSON headers put the fields last, or sort the members by name.
    ends = payload[4 : min(body_start, 4 + _OUTLINE)] + payload[max(4, body_start - _OUTLINE) : body_start]
    return _member(ends, b"code"), _member(ends, b"opaque"), _member(ends, b"flag")


def _member(text: bytes, name: bytes) -> int:
    found = re.search(rb'"' + name + rb'"[ \t\n\r]*:[ \t\n\r]*(-?[0-9]{1,10})', text)
    number = _INT_MAX + 1 if found is None else int(found[1])
    if not _INT_MIN <= number <= _INT_MAX:
        raise ProtocolError(f"a header that is too large and has no {name.decode()} where it is looked for")
    return number


def strings_in(text: bytes) -> int:
    """Return one to two times the number of strings in JSON: no opening quote has a backslash before it."""
    return text.count(b'"') - text.count(b'\\"')
