"""Classes of protobuf messages, made of `messages.binpb` when they are first wanted.

They live in a pool of their own, so that another package's copies of the same messages, such as those of
the official client, may be loaded into the same process. `scripts/messages.py` makes the file and the types
of the modules that have the classes by name (`v2`, `health_v1`, `reflection_v1`).
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message_factory import GetMessageClass

FILES = FileDescriptorSet.FromString(resources.files(__package__).joinpath("messages.binpb").read_bytes())
"""The descriptions of all files, each after those it imports."""
WELL_KNOWN = "google.protobuf"

POOL = DescriptorPool()
for _file in FILES.file:
    POOL.Add(_file)


def names_of(package: str) -> dict[str, Any]:
    """Return the messages and enumerations of a package by name, and the well-known messages they use."""
    names: dict[str, Any] = {}
    for file in FILES.file:
        if file.package in (package, WELL_KNOWN):
            made = POOL.FindFileByName(file.name)
            names |= {name: GetMessageClass(one) for name, one in made.message_types_by_name.items()}
            names |= {name: _enumeration(one) for name, one in made.enum_types_by_name.items()}
    return names


def _enumeration(descriptor: EnumDescriptor) -> Any:
    """Return an enumeration that has its numbers as attributes; they would be looked up by a search each
    time."""
    made: Any = EnumTypeWrapper(descriptor)
    for name, number in made.items():
        setattr(made, name, number)
    return made
