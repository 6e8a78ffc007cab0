"""Parts of the descriptions of consumer and share groups."""

from __future__ import annotations

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.api.assigned_groups import MEMBERS_PART, described_members


def test_members_are_described_in_their_order_in_several_steps() -> None:
    numbers = range(2 * MEMBERS_PART + 1)
    assert run(described_members(numbers, str)) == [str(number) for number in numbers]
    steps = described_members(numbers, str)
    assert len(list(steps)) == 3
