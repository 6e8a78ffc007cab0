"""The state of a consumer group in one word, whatever the protocol of its members. Pure."""

from __future__ import annotations

from mqgateway.gateway.doctor.checks import IDLE_MILLIS
from mqgateway.gateway.doctor.evidence import REBALANCING

STATES = ("ok", "behind", "stuck", "rebalancing", "no-members")


def group_state(*, members: int, lag: int, kafka_state: str, idle_millis: int | None) -> str:
    """Return the state of a group, one of `STATES`.

    A group is stuck if it has members, messages wait, and its offsets have not moved for `IDLE_MILLIS`.
    """
    if not members:
        return "no-members"
    if kafka_state in REBALANCING:
        return "rebalancing"
    if not lag:
        return "ok"
    return "stuck" if idle_millis is not None and idle_millis >= IDLE_MILLIS else "behind"
