"""YAML of files of rules, by the library PyYAML: bounded, and with line numbers for errors.

Every scalar is its text, except booleans and null: YAML would read other numbers from `0123456` or
`1_000_000`, and dates. Merge keys (`<<`) are ordinary keys.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from mqgateway.engine.errors import ConfigError

MAX_BYTES = 1 << 20
"""Maximum size of a file, enough for some thousand accounts."""
MAX_DEPTH = 16
MAX_ALIASES = 50

_MEANT = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null")
"""Types of a bare scalar besides text."""
_KNOWN = (*_MEANT, *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")), None)
"""Nodes that may occur; None stands for the refusal of all others."""


class ParsedYaml(NamedTuple):
    """A file's value, None for an empty one, and the lines on which the items of its list begin."""

    value: Any
    lines: tuple[int, ...]


def parse_yaml(path: str, data: bytes, name: str = "") -> ParsedYaml:
    """Read a file; `name` is the member for whose items lines are returned. Raises `ConfigError`."""
    import yaml  # imported here, because most servers do not need it

    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: longer than {MAX_BYTES} bytes; divide it into files of conf/acl")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}:{_line(data[: error.start])}: this is not UTF-8") from None
    try:
        _check_bounds(path, text)
        loader = _loader()(text)
        try:
            node = loader.get_single_node()
            lines = tuple(item.start_mark.line + 1 for item in _items(node, name))
            return ParsedYaml(None if node is None else loader.construct_document(node), lines)
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = _line(text[: error.position].encode("utf-8", "replace"))
        raise ConfigError(f"{path}:{line}: {error.reason}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = path if mark is None else f"{path}:{mark.line + 1}"
        raise ConfigError(f"{place}: {getattr(error, 'problem', None) or 'this is no YAML'}") from None


def write_yaml(value: dict[str, Any]) -> bytes:
    """Return the text of a file, as RocketMQ writes it: blocks, members in their order, bare texts."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True)
    return text.encode("utf-8", "replace")


def _check_bounds(path: str, text: str) -> None:
    """Check the bounds of a text without building its value. Raises `ConfigError` and errors of PyYAML."""
    import yaml

    anchors: list[str | None] = []
    aliases = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.AliasEvent):
            aliases += 1
            if aliases > MAX_ALIASES or event.anchor in anchors:
                where = f"{path}:{event.start_mark.line + 1}"
                raise ConfigError(f"{where}: too many aliases, or an alias inside its own anchor")
        elif isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            if len(anchors) > MAX_DEPTH:
                raise ConfigError(f"{path}:{event.start_mark.line + 1}: more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchors.pop()


@cache
def _loader() -> Any:
    """Return the library's reader, the fast one if it exists, with scalars as texts."""
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: kept
        for first, known in base.yaml_implicit_resolvers.items()
        if (kept := [one for one in known if one[0] in _MEANT])
    }
    constructors = {tag: made for tag, made in base.yaml_constructors.items() if tag in _KNOWN}
    members = {"yaml_implicit_resolvers": resolvers, "yaml_constructors": constructors}
    return type("TextLoader", (base,), members)


def _items(node: Any, name: str) -> list[Any]:
    """Return the items of a member that is a list; of a repeated member, those of the last."""
    import yaml

    found: list[Any] = []
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                found = value.value if isinstance(value, yaml.SequenceNode) else []
    return found


def _line(before: bytes) -> int:
    return before.count(b"\n") + 1
