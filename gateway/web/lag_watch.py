"""The periodic samples of all groups' lag, a few groups at a time."""

from __future__ import annotations

from mqgateway.engine.names import is_lmq, is_system_group
from mqgateway.gateway.web.console import Console

GROUPS_A_LOOK = 64


async def watch_groups(console: Console) -> None:
    """Note lag and offsets of every group but those of the system."""
    operations, breathe = console.operations, console.turns()
    found: dict[str, tuple[int, int]] = {}
    for number, (topic, group) in enumerate(operations.offsets.pairs()):
        if not number % GROUPS_A_LOOK:
            await breathe()
        if topic in operations.topics and not is_lmq(topic) and not is_system_group(group):
            lag, consumed = found.get(group, (0, 0))
            lag += operations.offsets.lag(group, topic)
            found[group] = (lag, consumed + operations.offsets.committed_sum(group, topic))
    for number, group in enumerate(operations.groups.names()):
        if not number % GROUPS_A_LOOK:
            await breathe()
        coordinated = operations.coordinated.group(group)
        if coordinated is not None and coordinated.shared:
            lag, consumed = found.get(group, (0, 0))
            lag += sum(one.lag or 0 for one in coordinated.shared)
            found[group] = (lag, consumed + sum(max(0, one.offset) for one in coordinated.shared))
    now = console.now()
    console.lags.retain(found.keys())
    for group, (lag, consumed) in found.items():
        console.lags.note(group, now, lag, consumed)
