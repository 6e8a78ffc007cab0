"""Admission of requests: order of the checks, one use a permit, and the end of a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.needs import PUB, Need
from mqgateway.gateway.access.policies import topic
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Principal, Reason, Use
from mqgateway.gateway.broker.operations.gate import Gate, InternalConnection
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.remoting.turn import Turn
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker
from tests.support.gateway.broker.operating import principal

RIGHTS = [Need(topic("T"), (PUB,))]


class Scene:
    """A gate with access control that accepts alice; `steps` holds what was checked, in order.

    With `has_lease` the broker is under a controller.
    """

    def __init__(self, *, has_lease: bool = False, **store_options: Any) -> None:
        self.memory = MemoryBroker(store_options=store_options, options={"broker_id": len(store_options)})
        self.steps: list[str] = []
        self.turns = 0
        self.turn = Turn()
        if has_lease:
            self.memory.broker.controlled = self  # type: ignore[assignment]  # a lease that is noted
        self.gate = Gate(self.memory.broker, admission=self, turn=self.turn, end_turn=self._end_turn)

    def admit(self, caller: FrontEndCaller, needs: Callable[[], Sequence[Need]]) -> None:
        """As `Admission`."""
        self.steps.append(f"admit {caller.name} {[str(need.resource) for need in needs()]}")
        if caller.name != "alice":
            raise NotAdmitted("unknown user")

    def is_authorized(self) -> bool:
        """As `Controlled`."""
        self.steps.append("lease")
        return True

    def principal(self, name: str = "alice") -> Principal:
        """A principal that signs."""
        return Principal(FakePeer(), lambda: FrontEndCaller(name, str.isascii, "10.0.0.1:1", "Request"))

    def _end_turn(self) -> None:
        self.turns += 1


def test_admit_checks_rights_then_protocol_then_lease_then_role() -> None:
    scene = Scene(has_lease=True, broker_role=BrokerRole.SLAVE)
    with pytest.raises(OperationError) as refused:
        scene.gate.admit(scene.principal(), Use.SEND, lambda: RIGHTS, lambda: scene.steps.append("validate"))
    assert refused.value.reason is Reason.SYSTEM_BUSY
    assert scene.steps == ["admit alice ['Topic:T']", "validate", "lease"]


def test_admit_of_an_unknown_user_ends_before_other_checks() -> None:
    scene = Scene()
    with pytest.raises(NotAdmitted, match="unknown user"):
        scene.gate.admit(
            scene.principal("mallory"), Use.SEND, validate=lambda: scene.steps.append("validate")
        )
    assert scene.steps == ["admit mallory []"]


def test_authenticate_checks_the_user_alone() -> None:
    scene = Scene(has_lease=True)
    scene.gate.authenticate(FrontEndCaller("alice", str.isascii, "10.0.0.1:1", "Request"))
    with pytest.raises(NotAdmitted, match="unknown user"):
        scene.gate.authenticate(FrontEndCaller("bob", str.isascii, "10.0.0.1:1", "Request"))
    assert scene.steps == ["admit alice []", "admit bob []"]
    Gate(scene.memory.broker).authenticate(FrontEndCaller("bob", str.isascii, "10.0.0.1:1", "Request"))


def test_admit_of_an_authenticated_principal_skips_access_control() -> None:
    scene = Scene()
    peer = FakePeer()
    permit = scene.gate.admit(principal(peer), Use.SEND)
    assert (permit.connection, permit.now, scene.steps) == (peer, scene.memory.clock.millis(), [])


@pytest.mark.parametrize("use", Use)
def test_fenced_broker_admits_reads_only(use: Use) -> None:
    scene = Scene()
    scene.memory.broker.role.become(RoleKind.FENCED)
    scene.memory.broker.store.gate = closed_gate(RoleKind.FENCED)
    reads = {Use.PULL, Use.QUERY, Use.CONNECT, Use.CONFIGURE}
    try:
        scene.gate.admit(principal(), use)
        assert use in reads
    except OperationError as refusal:
        assert use not in reads and refusal.reason is Reason.SERVICE_NOT_AVAILABLE


def test_permit_serves_its_own_use_only() -> None:
    scene = Scene()
    permit = scene.gate.admit(principal(), Use.QUERY)
    with pytest.raises(ValueError, match="a permit to query does not allow to send"):
        scene.gate.enter(permit, Use.SEND)
    scene.gate.enter(permit, Use.SEND, Use.QUERY)


def test_permit_of_a_former_master_is_refused() -> None:
    scene = Scene()
    permit = scene.gate.admit(principal(), Use.SEND)
    scene.memory.broker.role.become(RoleKind.FENCED)
    scene.memory.broker.store.gate = closed_gate(RoleKind.FENCED)
    with pytest.raises(OperationError):
        scene.gate.enter(permit, Use.SEND)


def test_internal_permit_is_bound_to_no_client() -> None:
    permit = Scene().gate.internal(Use.ACKNOWLEDGE)
    assert isinstance(permit.connection, InternalConnection) and permit.connection.is_open
    permit.connection.on_lost(print)
    permit.connection.close("")


def test_leave_ends_the_turn_unless_one_is_open() -> None:
    scene = Scene()
    scene.turn.begin()
    assert (scene.gate.leave("outcome"), scene.turns) == ("outcome", 0)
    scene.turn.end()
    assert (scene.gate.leave("outcome"), scene.turns) == ("outcome", 1)


def test_leave_without_turns_stores_at_once() -> None:
    scene = Scene()
    gate = Gate(scene.memory.broker, end_turn=lambda: scene.steps.append("end"))
    assert (gate.leave("outcome"), scene.steps) == ("outcome", ["end"])


def test_lease_is_checked_again_when_an_operation_begins() -> None:
    scene = Scene(has_lease=True)
    permit = scene.gate.admit(principal(), Use.SEND)
    scene.gate.enter(permit, Use.SEND)
    assert scene.steps == ["lease", "lease"]


def test_role_decides_what_is_allowed_and_its_change_is_reported() -> None:
    scene = Scene()
    changes: list[bool] = []
    scene.gate.on_role_change(lambda: changes.append(scene.gate.allows(Use.SEND)))
    assert scene.gate.allows(Use.SEND)
    role = scene.memory.broker.role
    scene.memory.broker.store.gate = closed_gate(RoleKind.SLAVE)
    role.become(RoleKind.SLAVE, broker_id=1)
    role.become(RoleKind.SLAVE, epoch=5)
    assert changes == [False]
    assert scene.gate.allows(Use.QUERY)


def test_only_permits_of_the_broker_itself_are_internal() -> None:
    scene = Scene()
    assert scene.gate.internal(Use.SEND).is_internal
    assert not scene.gate.admit(scene.principal(), Use.SEND).is_internal
