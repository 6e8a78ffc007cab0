"""Declaration of one setting, and conversion from and to text.

A setting is declared once, as a dataclass field made by `option`. Its text form is that of RocketMQ's
properties files: decimal numbers, `true` and `false`, names of enumerations. Bytes may also be given
with a suffix (`64m`), which RocketMQ does not accept.

Standard: `MixAll.properties2Object`, which silently ignores unknown keys and bad values; here both are
problems with a position and a remedy.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, cast

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

Value = bool | int | float | str

_METADATA_KEY = "option"
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_SIZE = re.compile(r"([0-9]+) *([kKmMgG])(?:i?[bB])?")
_SIZE_FACTORS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Effect(StrEnum):
    """Time at which a setting that is changed by request or in the file takes effect."""

    LIVE = "live"
    """At once."""
    ANNOUNCED = "announced"
    """At once, and name servers are notified; listeners keep their addresses."""
    RESTART = "restart"
    """After a restart; until then it is kept in the settings file."""
    FIXED = "fixed"
    """At start only, never by request: it decides on data locations and permissions."""


class BadValue(ValueError):
    """A text that is not a value of an option; `suggestion` is a valid one."""

    def __init__(self, what: str, suggestion: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.suggestion = suggestion


@dataclass(frozen=True, kw_only=True)
class Option:
    """Declaration of a setting."""

    name: str
    """Name of the property in files, identical to RocketMQ's."""
    attribute: str
    """Attribute that holds the value; empty for a property that is only accepted and shown."""
    default: Value
    meaning: str
    unit: str = ""
    low: float
    high: float
    no_effect: str = ""
    """Reason why the property has no effect here; empty if it has one."""
    unavailable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Unsupported values, which are refused, with the reason."""
    ours: bool = False
    """True if RocketMQ does not have the property."""
    old_names: tuple[str, ...] = ()
    secret: bool = False
    effect: Effect = Effect.LIVE
    check: Callable[[str], object] | None = None
    """Validator of text properties, which raises `BadValue`."""

    def parse(self, text: str) -> Value:
        """Return the value written in `text`, surrounding blanks removed. Raises `BadValue`."""
        text = text.strip()
        value = self._parse_kind(text)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_range(value)
        reason = self.unavailable.get(format_value(value))
        if reason:
            raise BadValue(reason, format_value(self.default))
        return value

    def _parse_kind(self, text: str) -> Value:
        if isinstance(self.default, bool):
            return _parse_bool(text)
        if isinstance(self.default, StrEnum):
            return _parse_choice(type(self.default), text)
        if isinstance(self.default, int):
            return _parse_int(text, sized=self.unit == "bytes")
        if isinstance(self.default, float):
            return _parse_float(text)
        if self.check is not None:
            self.check(text)
        return text

    def _check_range(self, value: float) -> None:
        if value < self.low:
            raise BadValue(f"less than the minimum {self.low:g}", f"{self.low:.0f}")
        if value > self.high:
            raise BadValue(f"more than the maximum {self.high:.0f}", f"{self.high:.0f}")


def option(
    default: Value,
    meaning: str,
    *,
    unit: str = "",
    name: str = "",
    low: float | None = None,
    high: float | None = None,
    no_effect: str = "",
    unavailable: Mapping[str, str] | None = None,
    ours: bool = False,
    old_names: tuple[str, ...] = (),
    secret: bool = False,
    effect: Effect = Effect.LIVE,
    check: Callable[[str], object] | None = None,
) -> Any:
    """Return a dataclass field that is a setting; see `Option` for the arguments.

    Without `name` the property is named like the attribute, in camel case. By default numbers are at
    least 0 (or the default, if that is lower) and fit Java's int.
    """
    numeric = isinstance(default, int | float) and not isinstance(default, bool)
    metadata = {
        "name": name,
        "meaning": meaning,
        "unit": unit,
        "low": low if low is not None else min(0, default) if numeric else 0,
        "high": high if high is not None else max(INT_MAX, default) if numeric else 0,
        "no_effect": no_effect,
        "unavailable": dict(unavailable or {}),
        "ours": ours,
        "old_names": old_names,
        "secret": secret,
        "effect": effect,
        "check": check,
    }
    return dataclasses.field(default=default, metadata={_METADATA_KEY: metadata})


_OPTIONS: dict[type, tuple[Option, ...]] = {}
"""Settings by class: they do not change, and each broker of a process needs them."""


def options_of(options_class: type) -> tuple[Option, ...]:
    """Return every setting of a class, including inherited ones, in the order of declaration."""
    if options_class not in _OPTIONS:
        _OPTIONS[options_class] = tuple(_declared(options_class))
    return _OPTIONS[options_class]


def _declared(options_class: type) -> Iterator[Option]:
    return (
        Option(
            attribute=field.name,
            default=cast(Value, field.default),
            **{
                **field.metadata[_METADATA_KEY],
                "name": field.metadata[_METADATA_KEY]["name"] or camel_case(field.name),
            },
        )
        for field in dataclasses.fields(options_class)
        if _METADATA_KEY in field.metadata
    )


def accepted(no_effect: str, properties: str) -> tuple[Option, ...]:
    """Return properties without effect, given as `name=default` and separated by blanks or lines.

    The type is derived from the default.
    """
    options = []
    for pair in properties.split():
        name, _, text = pair.partition("=")
        default = _guess(text)
        numeric = isinstance(default, int | float) and not isinstance(default, bool)
        options.append(
            Option(
                name=name,
                attribute="",
                default=default,
                meaning="Accepted for compatibility with existing files.",
                low=-LONG_MAX if numeric else 0,
                high=LONG_MAX if numeric else 0,
                no_effect=no_effect,
            )
        )
    return tuple(options)


def camel_case(attribute: str) -> str:
    """Return `flush_disk_type` as `flushDiskType`."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)


def snake_case(name: str) -> str:
    """Return `brokerIP1` as `broker_ip1`, `tls.server.keyPath` as `tls_server_key_path`."""
    text = name.replace(".", "_")
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", text)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text).lower()


def format_value(value: Value) -> str:
    """Return a value in the form of a properties file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def closest(word: str, candidates: list[str]) -> str:
    """Return the candidate most similar to `word`, or "" if none is similar."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.75)
    return by_lower[found[0]] if found else ""


def _parse_bool(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    suggestion = {"yes": "true", "on": "true", "1": "true", "no": "false", "off": "false", "0": "false"}
    raise BadValue("not true or false", suggestion.get(lowered) or closest(lowered, ["true", "false"]))


def _parse_choice(choices: type[StrEnum], text: str) -> StrEnum:
    names = [choice.value for choice in choices]
    if text in names:
        return choices(text)
    raise BadValue(f"not one of {', '.join(names)}", closest(text, names))


def _parse_int(text: str, sized: bool) -> int:
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text) if len(text) <= 20 else _too_long(text)
    size = _SIZE.fullmatch(text) if sized else None
    if size is not None:
        return int(size[1]) * _SIZE_FACTORS[size[2].lower()]
    number = re.match(r"[+-]?[0-9]+", text)
    raise BadValue("not a whole number", number[0] if number else "")


def _too_long(text: str) -> int:
    raise BadValue("too many digits for a number", text[:10])


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadValue("not a number") from None


def _guess(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"0|-?[1-9][0-9]*", text):
        return int(text)
    if re.fullmatch(r"[0-9]+\.[0-9]+", text):
        return float(text)
    return text
