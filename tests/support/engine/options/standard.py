"""The configuration classes of RocketMQ 5.5.0: property, type and default, as the classes have them.

A default of `*` depends on the machine.
"""

from pathlib import Path
from typing import NamedTuple

from mqgateway.engine.options import OptionSet

TYPES = {"int": int, "long": int, "boolean": bool, "double": float}


class Property(NamedTuple):
    """One property of RocketMQ's configuration."""

    owner: str
    name: str
    kind: str
    default: str


def properties_of(*owners: str) -> list[Property]:
    """Return the properties of these classes."""
    lines = Path(__file__).with_name("standard_properties.tsv").read_text().splitlines()[1:]
    found = [Property(*line.split("\t")) for line in lines]
    assert {one.owner for one in found} >= set(owners)
    return [one for one in found if one.owner in owners]


def differences(options: OptionSet, *owners: str) -> dict[str, str]:
    """Return the differences of our declarations from RocketMQ's, by property: `missing`, our type or our
    default."""
    found = {}
    for one in properties_of(*owners):
        if one.name not in options:
            found[one.name] = "missing"
            continue
        default = options.option(one.name).default
        if not isinstance(default, TYPES.get(one.kind, str)):
            found[one.name] = type(default).__name__
        text = str(default).lower() if isinstance(default, bool) else str(default)
        if one.default not in ("*", text):
            found[one.name] = text
    return found
