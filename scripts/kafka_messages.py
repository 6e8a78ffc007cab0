#!/usr/bin/env python3
"""Generate `gateway/kafka/codec/messages` from the message schemas of Apache Kafka.

    .venv/bin/python scripts/kafka_messages.py \
        kafka-clients-4.4.0.jar kafka-group-coordinator-4.4.0.jar kafka-transaction-coordinator-4.4.0.jar \
        kafka-share-coordinator-4.4.0.jar

The arguments are the jars of Kafka's clients and of its coordinators, whose `common/message` have the
schemas (Apache License 2.0), or folders with the same files. A module is written for each message of the APIs
that a broker serves, for each schema that clients embed in them, and for the records of the coordinators,
and `table` for the APIs. A digest of all of them goes to the tests, which compare it where no schemas are at
hand.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gateway" / "kafka" / "codec" / "messages"
DIGEST = ROOT / "tests" / "gateway" / "kafka" / "codec" / "messages.sha256"
RELEASE = "4.4.0"
EMBEDDED = ("ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "EndTxnMarker")
"""Schemas of bytes that clients and brokers put into fields and records."""
RECORDS = (
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "OffsetCommitKey",
    "OffsetCommitValue",
    "ShareGroupCurrentMemberAssignmentKey",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadataKey",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataKey",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataKey",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberKey",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataKey",
    "ShareGroupTargetAssignmentMetadataValue",
    "ShareSnapshotKey",
    "ShareSnapshotValue",
    "ShareUpdateKey",
    "ShareUpdateValue",
    "TransactionLogKey",
    "TransactionLogValue",
)
"""Schemas of records in the topics of coordinators."""
TYPES = {
    "bool": "bool",
    "bytes": "bytes",
    "float64": "float",
    "records": "Records",
    "string": "str",
    "uuid": "bytes",
}
"""Types in Python; the others are numbers."""
EMPTY = {
    "bool": "False",
    "bytes": 'b""',
    "float64": "0.0",
    "records": 'b""',
    "string": '""',
    "uuid": "NO_UUID",
}
"""Defaults of types; that of the others is 0."""
NONE = "none"
Schema = dict[str, Any]


def schemas(source: Path) -> list[Schema]:
    """The schemas of a jar or folder, in the order of their names."""
    if source.is_dir():
        texts = [path.read_text() for path in sorted(source.glob("*.json"))]
    else:
        with zipfile.ZipFile(source) as jar:
            names = sorted(name for name in jar.namelist() if re.fullmatch(r"common/message/\w+\.json", name))
            texts = [jar.read(name).decode() for name in names]
    return [json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)) for text in texts]


def snake(name: str) -> str:
    """The name in the form of Python's."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def versions(text: str) -> str:
    """A range of versions, empty for `none`."""
    return "" if text == NONE else text


def bounds(text: str) -> tuple[int, int]:
    """First and last version of a range."""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def is_array(field: Schema) -> bool:
    """Return True if the field is an array."""
    return str(field["type"]).startswith("[]")


def element(field: Schema) -> str:
    """The type of the field, or of its elements."""
    return str(field["type"]).removeprefix("[]")


def is_struct(field: Schema) -> bool:
    """Return True if the field, or its elements, are structs."""
    return element(field)[0].isupper()


def annotation(field: Schema) -> str:
    """The type of the field in Python."""
    name = element(field)
    text = name if is_struct(field) else TYPES.get(name, "int")
    if is_array(field):
        text = f"Sequence[{text}]"
    if field.get("nullableVersions"):
        text += " | None"
    return text


def default(field: Schema) -> str:
    """The default of the field as Python; a struct that is not null is made by the constructor."""
    given = field.get("default", "")
    if given in ("null", None) or (is_struct(field) and not is_array(field)):
        return "None"
    if is_array(field):
        return "()"
    kind = element(field)
    if given == "":
        return EMPTY.get(kind, "0")
    if kind == "bool":
        return str(str(given).lower() == "true")
    if kind == "string":
        return json.dumps(given)
    if kind == "float64":
        return str(float(given))
    return str(int(str(given), 0))


def declaration(field: Schema) -> str:
    """The declaration of the field as the codec reads it."""
    kind = "[]" * is_array(field) + ("struct" if is_struct(field) else element(field))
    tagged = field.get("taggedVersions", NONE)
    present = versions(field.get("versions", NONE)) or versions(tagged)
    parts = [f'"{snake(field["name"])}"', f'"{kind}"', f'"{present}"']
    if nullable := versions(field.get("nullableVersions", NONE)):
        parts.append(f'nullable="{nullable}"')
    if field.get("ignorable"):
        parts.append("ignorable=True")
    if "tag" in field:
        parts += [f"tag={field['tag']}", f'tagged="{tagged}"']
    if is_struct(field):
        parts.append(f"of={element(field)}")
    return f"Field({', '.join(parts)})"


def class_lines(name: str, fields: list[Schema], constants: list[str]) -> Iterator[str]:
    """A message or a struct."""
    names = [snake(field["name"]) for field in fields]
    yield f"class {name}(Message):"
    yield "    __slots__ = ("
    yield from (f'        "{field}",' for field in names)
    yield "    )"
    yield from (f"    {constant}" for constant in constants)
    if not fields:
        return
    yield "    FIELDS = ("
    yield from (f"        {declaration(field)}," for field in fields)
    yield "    )"
    yield ""
    yield "    def __init__("
    yield "        self,"
    for field, known in zip(fields, names, strict=True):
        text = annotation(field)
        if default(field) == "None" and not text.endswith("| None"):
            text += " | None"
        yield f"        {known}: {text} = {default(field)},"
    yield "    ) -> None:"
    for field, known in zip(fields, names, strict=True):
        made = is_struct(field) and not is_array(field) and not field.get("nullableVersions")
        yield f"        self.{known} = " + (
            f"{element(field)}() if {known} is None else {known}" if made else known
        )


def structs(fields: list[Schema]) -> Iterator[tuple[str, list[Schema]]]:
    """The structs that fields declare, inner ones first."""
    for field in fields:
        if inner := field.get("fields"):
            yield from structs(inner)
            yield element(field), inner


def ordered(declared: dict[str, list[Schema]]) -> list[str]:
    """The names of structs, each after those that it has fields of."""
    done: list[str] = []

    def add(name: str) -> None:
        if name not in done:
            for field in declared[name]:
                if is_struct(field):
                    add(element(field))
            done.append(name)

    for name in declared:
        add(name)
    return done


def module(schema: Schema) -> str:
    """The module of a message."""
    name, fields = schema["name"], schema.get("fields", [])
    common = [(one["name"], one["fields"]) for one in schema.get("commonStructs", [])]
    flexible = versions(schema.get("flexibleVersions", NONE))
    constants = [f'VERSIONS = "{schema["validVersions"]}"', f'FLEXIBLE = "{flexible}"']
    if "apiKey" in schema:
        constants.insert(0, f"KEY = {schema['apiKey']}")
    inner = [one for known, own in common for one in (*structs(own), (known, own))]
    declared = dict([*inner, *structs(fields)])
    blocks = ["\n".join(class_lines(one, declared[one], [])) for one in ordered(declared)]
    blocks.append("\n".join(class_lines(name, fields, constants)))
    body = "\n\n\n".join(blocks)
    imports = [
        f"# Generated by scripts/kafka_messages.py from a schema of Apache Kafka {RELEASE} (Apache-2.0).",
        f'"""{name}, versions {schema["validVersions"]}."""',
        "",
    ]
    if "Sequence[" in body:
        imports += ["from collections.abc import Sequence", ""]
    taken = [one for one in ("NO_UUID", "Field", "Message", "Records") if re.search(rf"\b{one}\b", body)]
    imports.append(f"from mqgateway.gateway.kafka.codec.schema import {', '.join(taken)}")
    return "\n".join(imports) + "\n\n\n" + body + "\n"


def table(requests: list[Schema]) -> str:
    """The module of the APIs of a broker."""
    lines = [
        f"# Generated by scripts/kafka_messages.py from the schemas of Apache Kafka {RELEASE} (Apache-2.0).",
        '"""API keys of a broker."""',
        "",
        "ROWS = (",
    ]
    for schema in sorted(requests, key=lambda one: int(one["apiKey"])):
        oldest, latest = bounds(schema["validVersions"])
        stable = latest - bool(schema.get("latestVersionUnstable"))
        flexible = versions(schema["flexibleVersions"]).removesuffix("+") or -1
        name = schema["name"].removesuffix("Request")
        lines.append(
            f'    ({schema["apiKey"]}, "{name}", "{snake(name)}", {oldest}, {stable}, {latest}, {flexible}),'
        )
    notes = (
        ")",
        '"""Key, name, module, oldest, latest stable and latest version, first flexible one (-1: none)."""',
    )
    return "\n".join((*lines, *notes)) + "\n"


def generated(*sources: Path) -> dict[str, str]:
    """The text of each file, by name."""
    read = [schema for source in sources for schema in schemas(source) if schema["validVersions"] != NONE]
    requests = [one for one in read if one["type"] == "request" and "broker" in one.get("listeners", [])]
    keys = {one["apiKey"] for one in requests}
    chosen = [
        one
        for one in read
        if (one["type"] in ("request", "response") and one.get("apiKey") in keys)
        or one["name"] in EMBEDDED + RECORDS
    ]
    files = {f"{snake(schema['name'])}.py": module(schema) for schema in chosen}
    files["__init__.py"] = (
        '"""Messages of Kafka\'s protocol; `scripts/kafka_messages.py` generates the modules."""\n'
    )
    files["table.py"] = table(requests)
    return files


def digest(files: dict[str, str]) -> str:
    """A digest of files and their names."""
    texts = (f"{name}\n{text}" for name, text in sorted(files.items()))
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def main() -> None:
    """Write the files and remove those that are no longer generated."""
    files = generated(*map(Path, sys.argv[1:]))
    PACKAGE.mkdir(parents=True, exist_ok=True)
    for path in PACKAGE.glob("*.py"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (PACKAGE / name).write_text(text)
    DIGEST.write_text(digest(files) + "\n")


if __name__ == "__main__":
    main()
