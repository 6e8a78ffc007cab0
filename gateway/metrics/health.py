"""Whether a server can be used, and if not why: for probes of containers, and for people.

A server is ready when nothing is wrong with it. A master is to take messages: a disk that takes no writes
makes it unready, although it goes on serving what is stored. One that has name servers must have told one.
"""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.controller.controller import Controller
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.registration import Registration
from mqgateway.gateway.container.container import Container
from mqgateway.gateway.container.supervision import State
from mqgateway.gateway.namesrv.name_server import NameServer


class Check(NamedTuple):
    """One thing that was looked at: how it is, and whether the server can be used with it being so."""

    is_fine: bool
    state: str


Health = dict[str, Check]
"""What was looked at, by name."""

STARTING = Check(False, "starting")


def starting(recovered: float | None) -> Check:
    """Of a store that is opened; `recovered` is the part of the log that was read of what must be."""
    return STARTING if recovered is None else Check(False, f"recovering, {recovered:.0%} of the log read")


def is_ready(health: Health) -> bool:
    """Whether nothing is wrong."""
    return all(check.is_fine for check in health.values())


def broker_health(broker: Broker, registration: Registration) -> Health:
    """Of a broker that has started."""
    return {
        "store": _store(broker),
        "role": _role(broker),
        "name servers": _name_servers(registration.registered),
    }


def _store(broker: Broker) -> Check:
    sickness = broker.store.sickness
    return Check(not sickness, f"takes no messages: {sickness}" if sickness else "open")


def _role(broker: Broker) -> Check:
    role = broker.role
    state = f"{role.state.kind.value}, id {role.state.broker_id}"
    if role.is_fenced:
        return Check(False, state)
    if role.is_master:
        refusal = broker.store.refusal
        is_open = not refusal or refusal == broker.store.sickness
        return Check(is_open, state if is_open else f"{state}, {refusal}")
    if broker.has_master:
        return Check(True, f"{state}, follows its master")
    acts = broker.membership is not None and broker.membership.group.acts
    return Check(acts, state if acts else f"{state}, without its master")


def _name_servers(told: dict[str, bool]) -> Check:
    if not told:
        return Check(True, "none are set")
    silent = [address for address, was_told in told.items() if not was_told]
    if not silent:
        return Check(True, "registered")
    return Check(len(silent) < len(told), f"not registered with {', '.join(silent)}")


def name_server_health(name_server: NameServer) -> Health:
    """Of a name server that listens."""
    is_ready = name_server.is_ready()
    return {"routes": Check(is_ready, "given" if is_ready else "held back: waitSecondsForService")}


def controller_health(controller: Controller) -> Health:
    """Of a controller: it leads, or knows who does. Without a leader no master is elected."""
    state = controller.state
    leader = state.leader
    if state.is_leader:
        return {"role": Check(True, f"leads in term {state.term}")}
    if leader is None:
        return {"role": Check(False, "no leader is known")}
    return {"role": Check(True, f"follows {leader.peer_id} at {leader.address}")}


def container_health(container: Container) -> Health:
    """Of a container: all its brokers are up."""
    return {
        charge.plan.identity.canonical_name: Check(charge.state is State.UP, charge.describe())
        for charge in container.supervision
    }
