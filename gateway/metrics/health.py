"""Health of servers, for probes of containers and for people; `gateway.broker.admin.health` has a broker's.

A server is ready when nothing is wrong with it.
"""

from __future__ import annotations

from mqgateway.engine.controller.controller import Controller
from mqgateway.gateway.broker.admin.health import Check, Health
from mqgateway.gateway.container.supervision import ChildState, Supervision
from mqgateway.gateway.namesrv.name_server import NameServer

STARTING = Check(False, "starting")


def starting(recovered: float | None) -> Check:
    """Return the check of a store that is being opened; `recovered` is the part of the log that was read."""
    return STARTING if recovered is None else Check(False, f"recovering, {recovered:.0%} of the log read")


def is_ready(health: Health) -> bool:
    """Return True if all checks are fine."""
    return all(check.is_fine for check in health.values())


def name_server_health(name_server: NameServer) -> Health:
    """Return the checks of a name server that listens."""
    is_ready = name_server.is_ready()
    return {"routes": Check(is_ready, "given" if is_ready else "held back: waitSecondsForService")}


def controller_health(controller: Controller) -> Health:
    """Return the checks of a controller: it must know the leader, without which no master is elected."""
    state = controller.state
    leader = state.leader
    if state.is_leader:
        return {"role": Check(True, f"leads in term {state.term}")}
    if leader is None:
        return {"role": Check(False, "no leader is known")}
    return {"role": Check(True, f"follows {leader.peer_id} at {leader.address}")}


def fleet_health(supervision: Supervision) -> Health:
    """Return the checks of supervised brokers: all of them must be up."""
    return {
        charge.plan.identity.canonical_name: Check(charge.state is ChildState.UP, charge.describe())
        for charge in supervision
    }
