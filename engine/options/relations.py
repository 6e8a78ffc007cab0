"""Settings that must be less than other settings: each is valid by itself, and both together are not.

Source: `GroupCoordinatorConfig`, `ShareGroupConfig` of Apache Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from mqgateway.engine.options.option import Value


class Relation(NamedTuple):
    """The setting `lower` is less than the setting `upper`; with `may_equal` both may be the same."""

    lower: str
    upper: str
    may_equal: bool = False


RELATIONS: Final = (
    Relation("kafkaGroupConsumerHeartbeatIntervalMillis", "kafkaGroupConsumerSessionTimeoutMillis"),
    Relation("kafkaGroupShareHeartbeatIntervalMillis", "kafkaGroupShareSessionTimeoutMillis"),
    Relation("kafkaGroupMinSessionTimeoutMillis", "kafkaGroupMaxSessionTimeoutMillis", may_equal=True),
)


def broken_relations(value: Callable[[str], Value]) -> list[str]:
    """Return an error for each violation by the settings, whose values `value` returns by name."""
    problems = []
    for lower, upper, may_equal in RELATIONS:
        least, most = int(value(lower)), int(value(upper))
        if least > most or (least == most and not may_equal):
            words = "at most" if may_equal else "less than"
            problems.append(f"{lower}={least}: must be {words} {upper}={most}; change one of them")
    return problems
