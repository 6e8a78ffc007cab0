"""Kafka messages with values chosen by a random generator, for round trips."""

from random import Random
from typing import Any

from mqgateway.gateway.kafka.codec.schema import Field, Message, covers

INTEGERS = {"int8": (8, True), "int16": (16, True), "int32": (32, True), "int64": (64, True)} | {
    "uint16": (16, False),
    "uint32": (32, False),
}
TEXTS = ("", "a", "topic-1", "Größe", "数据", "x" * 300)


def random_message(of: type[Message], version: int, random: Random, *, plain: bool = False) -> Message:
    """Return a message with every field of the version set. `plain` values are ones that any codec takes."""
    values = {
        field.name: random_value(field, version, random, plain)
        for field in of.FIELDS
        if covers(field.versions, version)
    }
    return of(**values)


def random_value(field: Field, version: int, random: Random, plain: bool) -> Any:
    """Return a value of a field."""
    if covers(field.nullable, version) and random.random() < 0.2:
        return None
    kind = field.kind.removeprefix("[]")
    if kind != field.kind:
        return tuple(single(kind, field, version, random, plain) for _ in range(random.choice((0, 1, 2, 5))))
    return single(kind, field, version, random, plain)


def single(kind: str, field: Field, version: int, random: Random, plain: bool) -> Any:
    """Return a value that is no array."""
    if kind == "struct":
        assert field.of is not None
        return random_message(field.of, version, random, plain=plain)
    if kind == "string":
        return random.choice(TEXTS)
    if kind in ("bytes", "records"):
        return random.randbytes(random.choice((0, 1, 40, 200)))
    if kind == "bool":
        return random.random() < 0.5
    if kind == "uuid":
        return random.randbytes(16)
    if kind == "float64":
        return random.uniform(-1e9, 1e9)
    if plain:
        return random.randrange(0, 100)
    bits, signed = INTEGERS[kind]
    least = -(1 << bits - 1) if signed else 0
    return random.choice((0, least, least + (1 << bits) - 1, random.randrange(least, least + (1 << bits))))
