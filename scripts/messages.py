#!/usr/bin/env python3
"""Make `messages.binpb` and the types of `gateway/grpc` from the .proto files below `gateway/grpc/protos`.

    .venv/bin/python scripts/messages.py

Needs grpcio-tools (of the extra `test`). The output does not depend on its version: comments and all else
that is not needed to read and write messages is left out, and the types are written here.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc_tools
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)
from grpc_tools import protoc

ROOM = Path(__file__).resolve().parents[1] / "gateway" / "grpc"
PACKAGES = {
    "apache.rocketmq.v2": "v2",
    "grpc.health.v1": "health_v1",
    "grpc.reflection.v1": "reflection_v1",
}
"""The module with the messages of each package."""
SCALARS = {
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_DOUBLE: "float",
    FieldDescriptorProto.TYPE_FLOAT: "float",
    FieldDescriptorProto.TYPE_STRING: "str",
}
"""Python types of scalars; the others are numbers."""
HEAD = """# Made by scripts/messages.py from the .proto files; do not edit.
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from google.protobuf.duration_pb2 import Duration as Duration
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
    ScalarMap,
)
from google.protobuf.message import Message as _Message
from google.protobuf.timestamp_pb2 import Timestamp as Timestamp

class _Enum(int):
    @classmethod
    def Name(cls, number: int) -> str: ...
    @classmethod
    def keys(cls) -> list[str]: ...
"""


def descriptors() -> FileDescriptorSet:
    """Return protoc's descriptors of the files and of those they import, in the order of their names."""
    protos = ROOM / "protos"
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    names = sorted(str(path.relative_to(protos)) for path in protos.rglob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "set"
        flags = [f"-I{protos}", f"-I{well_known}", "--include_imports", f"--descriptor_set_out={made}"]
        if protoc.main(["protoc", *flags, *names]):
            raise SystemExit("protoc refused the files")
        described = FileDescriptorSet.FromString(made.read_bytes())
    for file in described.file:
        if file.package == "google.protobuf":
            file.ClearField("options")
    return described


def types(described: FileDescriptorSet, package: str) -> str:
    """Return the text of a stub file for the messages of a package."""
    lines = [HEAD]
    for file in described.file:
        if file.package == package:
            for enum in file.enum_type:
                lines += enum_lines(enum)
            for message in file.message_type:
                lines += message_lines(message, package)
    return "\n".join(lines) + "\n"


def enum_lines(enum: EnumDescriptorProto, outer: str = "") -> Iterator[str]:
    """Yield the lines of an enumeration, whose values are numbers; `outer` is the message around it, with a
    dot."""
    name = outer + enum.name
    yield f"class {enum.name}(_Enum):"
    yield "    @classmethod"
    yield f"    def Value(cls, name: str) -> {name}: ..."
    yield "    @classmethod"
    yield f"    def values(cls) -> list[{name}]: ..."
    for value in enum.value:
        yield f"    {value.name}: ClassVar[{name}]"
    yield ""


def message_lines(message: DescriptorProto, package: str, indent: str = "", outer: str = "") -> Iterator[str]:
    """Yield the lines of a message: its fields, and the methods that take their names."""
    entries = {one.name: one for one in message.nested_type if one.options.map_entry}
    yield f"{indent}class {message.name}(_Message):"
    inner = indent + "    "
    within = f"{outer}{message.name}."
    for nested in message.nested_type:
        if not nested.options.map_entry:
            yield from message_lines(nested, package, inner, within)
    for enum in message.enum_type:
        yield from (inner + line if line else "" for line in enum_lines(enum, within))
        yield from (f"{inner}{value.name}: ClassVar[{within}{enum.name}]" for value in enum.value)
    given = []
    for field in message.field:
        kept, taken = field_types(field, package, entries)
        immutable = field.label != FieldDescriptorProto.LABEL_REPEATED and (
            field.type != FieldDescriptorProto.TYPE_MESSAGE
        )
        if immutable:
            yield f"{inner}{field.name}: {kept}"
        else:
            yield f"{inner}@property"
            yield f"{inner}def {field.name}(self) -> {kept}: ..."
        given.append(f"{field.name}: {taken} | None = None")
    yield f"{inner}def __init__("
    yield f"{inner}    self{', *,' if given else ''}"
    yield from (f"{inner}    {one}," for one in given)
    yield f"{inner}) -> None: ..."
    yield from presence_lines(message, inner)
    yield ""


def presence_lines(message: DescriptorProto, inner: str) -> Iterator[str]:
    """Yield `HasField` and `WhichOneof`, with the names that they take."""
    repeated = FieldDescriptorProto.LABEL_REPEATED
    singular = [one for one in message.field if one.label != repeated]
    present = [
        one.name
        for one in singular
        if one.type == FieldDescriptorProto.TYPE_MESSAGE or one.HasField("oneof_index")
    ]
    real = {one.oneof_index for one in singular if one.HasField("oneof_index") and not one.proto3_optional}
    choices = {
        oneof.name: [one.name for one in singular if one.HasField("oneof_index") and one.oneof_index == index]
        for index, oneof in enumerate(message.oneof_decl)
        if index in real
    }
    if names := present + list(choices):
        yield f"{inner}def HasField(self, field_name: {literal(names)}) -> bool: ..."
    if choices:
        members = [name for names in choices.values() for name in names]
        yield f"{inner}def WhichOneof("
        yield f"{inner}    self, oneof_group: {literal(list(choices))}"
        yield f"{inner}) -> {literal(members)} | None: ..."


def literal(names: list[str]) -> str:
    """Return the type of one of these names."""
    return f"Literal[{', '.join(repr(name) for name in names)}]".replace("'", '"')


def field_types(
    field: FieldDescriptorProto, package: str, entries: dict[str, DescriptorProto]
) -> tuple[str, str]:
    """Return the type that reading a field gives, and the type that the constructor takes for it."""
    is_message = field.type == FieldDescriptorProto.TYPE_MESSAGE
    one = SCALARS.get(field.type, "int")
    if field.type_name:
        one = field.type_name.removeprefix(f".{package}.").removeprefix(".google.protobuf.")
    if (entry := entries.get(one.rpartition(".")[2])) is not None:
        (key, _), (value, _) = (field_types(part, package, {}) for part in entry.field)
        has_messages = entry.field[1].type == FieldDescriptorProto.TYPE_MESSAGE
        return f"{'MessageMap' if has_messages else 'ScalarMap'}[{key}, {value}]", f"Mapping[{key}, {value}]"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        kind = "RepeatedCompositeFieldContainer" if is_message else "RepeatedScalarFieldContainer"
        return f"{kind}[{one}]", f"Iterable[{one}]"
    return one, one


def files() -> dict[Path, bytes]:
    """Return the content of each file to be written."""
    described = descriptors()
    stubs = {
        ROOM / f"{module}.pyi": types(described, package).encode() for package, module in PACKAGES.items()
    }
    return {ROOM / "messages.binpb": described.SerializeToString(deterministic=True), **stubs}


if __name__ == "__main__":
    for path, content in files().items():
        path.write_bytes(content)
        print(path)
