"""Levels of features."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.features import FEATURES, UPGRADE, Feature

FEATURE = Feature(1, 5, 3)
DOWNGRADE, UNSAFE_DOWNGRADE = 2, 3


@pytest.mark.parametrize("upgrade_type", (UPGRADE, DOWNGRADE, UNSAFE_DOWNGRADE))
def test_level_in_force_is_accepted(upgrade_type: int) -> None:
    assert FEATURE.problem(3, upgrade_type, "Node 1") is None


@pytest.mark.parametrize(
    "level, upgrade_type, text",
    [
        (3, 0, "upgrade type"),
        (3, 4, "upgrade type"),
        (-1, UPGRADE, "less than 0"),
        (6, UPGRADE, "Node 1 only supports versions 1-5"),
        (2, UPGRADE, "Can't downgrade the version"),
        (0, UPGRADE, "Node 1 only supports"),
        (4, DOWNGRADE, "Can't downgrade to a newer version"),
        (4, UPGRADE, "always 3"),
        (2, UNSAFE_DOWNGRADE, "always 3"),
        (0, DOWNGRADE, "Node 1 only supports"),
    ],
)
def test_other_level_is_refused_with_its_reason(level: int, upgrade_type: int, text: str) -> None:
    assert text in str(FEATURE.problem(level, upgrade_type, "Node 1"))


def test_levels_in_force_are_known() -> None:
    assert list(FEATURES) == sorted(FEATURES)
    assert all(each.oldest <= each.level <= each.latest for each in FEATURES.values())
