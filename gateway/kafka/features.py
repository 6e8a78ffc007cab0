"""Features of the cluster, as Apache Kafka 4.4.0 names them, and the levels that are in force.

Their levels are fixed. Standard: `Feature`, `MetadataVersion`, `FeatureControlManager`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

UPGRADE: Final = 1
UPGRADE_TYPES: Final = range(UPGRADE, 4)
"""Upgrade, safe downgrade and unsafe downgrade."""


class Feature(NamedTuple):
    """The levels of a feature that this broker knows, and the one in force."""

    oldest: int
    latest: int
    level: int

    def problem(self, wanted: int, upgrade_type: int, node: str) -> str | None:
        """Return why the level cannot be changed so; None if it is the level in force. `node` is this one."""
        if upgrade_type not in UPGRADE_TYPES:
            return "The controller does not support the given upgrade type."
        if wanted < 0:
            return "A feature version cannot be less than 0."
        if not self.oldest <= wanted <= self.latest:
            return f"{node} only supports versions {self.oldest}-{self.latest}"
        if wanted < self.level and upgrade_type == UPGRADE:
            return (
                "Can't downgrade the version of this feature without setting the upgrade type to either "
                "safe or unsafe downgrade."
            )
        if wanted > self.level and upgrade_type != UPGRADE:
            return "Can't downgrade to a newer version."
        return None if wanted == self.level else f"The level of this broker is always {self.level}."


FEATURES: Final = {
    "group.version": Feature(0, 1, 1),  # consumer groups of KIP-848
    "metadata.version": Feature(7, 33, 33),  # that of 4.4, and the oldest that its clients accept
    "share.version": Feature(0, 2, 2),  # share groups (KIP-932) with dead letters (KIP-1191)
    "transaction.version": Feature(0, 2, 2),  # each transaction has an epoch of its own (KIP-890)
}
"""The features by name, in the order of their names."""
