"""The properties of a stored message, looked up lazily in their text.

A filter by properties needs one or two of them. Finding those in the text is cheaper than parsing all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mqgateway.engine.message import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, parse_properties

SEPARATORS = frozenset((NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR))


class PropertiesText(Mapping[str, str]):
    """The mapping that `parse_properties` returns for a text, parsed only if needed."""

    __slots__ = ("_parsed", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._parsed: dict[str, str] | None = None

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a property, or `default`."""
        if self._parsed is not None:
            return self._parsed.get(name, default)
        text = self._text
        at = text.rfind(name + NAME_VALUE_SEPARATOR)
        if at < 0:
            return default
        begin = at + len(name) + 1
        end = text.find(PROPERTY_SEPARATOR, begin)
        value = text[begin:] if end < 0 else text[begin:end]
        is_whole = at == 0 or text[at - 1] == PROPERTY_SEPARATOR
        if value and name and is_whole and SEPARATORS.isdisjoint(name):
            return value
        return self._all().get(name, default)  # ambiguous: parse the text

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, str]:
        if self._parsed is None:
            self._parsed = parse_properties(self._text)
        return self._parsed
