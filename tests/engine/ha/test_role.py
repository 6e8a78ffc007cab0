"""The role of a broker: valid changes, and their subscribers."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.ha.role import ReplicationRole, RoleError, RoleKind, RoleState
from mqgateway.engine.options import BrokerRole

MASTER, SLAVE, ACTING, FENCED = RoleKind


def watched(role: ReplicationRole) -> list[tuple[RoleKind, RoleKind]]:
    """Return the list of changes that a subscriber gets."""
    changes: list[tuple[RoleKind, RoleKind]] = []
    role.on_change(lambda before, after: changes.append((before.kind, after.kind)))
    return changes


@pytest.mark.parametrize(
    ("configured", "kind"),
    [
        (BrokerRole.ASYNC_MASTER, MASTER),
        (BrokerRole.SYNC_MASTER, MASTER),
        (BrokerRole.SLAVE, SLAVE),
    ],
)
def test_broker_starts_in_its_assigned_role(configured: BrokerRole, kind: RoleKind) -> None:
    role = ReplicationRole.initial(configured, 3)
    assert role.state == RoleState(kind, 3, 0)


def test_subscriber_is_notified_of_changes_only() -> None:
    role = ReplicationRole(SLAVE, 1)
    changes = watched(role)
    role.become(SLAVE)
    role.become(ACTING)
    role.become(ACTING)
    role.become(MASTER, epoch=2)
    assert changes == [(SLAVE, ACTING), (ACTING, MASTER)]
    assert role.state == RoleState(MASTER, 0, 2)


def test_a_master_that_becomes_a_slave_needs_an_id() -> None:
    role = ReplicationRole(MASTER, 0)
    with pytest.raises(RoleError, match="id"):
        role.become(SLAVE)
    role.become(SLAVE, broker_id=2)
    role.become(FENCED)
    assert role.state == RoleState(FENCED, 2, 0)


def test_only_a_slave_acts() -> None:
    role = ReplicationRole(FENCED, 1)
    with pytest.raises(RoleError, match="fenced"):
        role.become(ACTING)


def test_an_older_epoch_is_refused() -> None:
    role = ReplicationRole(MASTER, 0, 5)
    changes = watched(role)
    with pytest.raises(RoleError, match="epoch 4"):
        role.become(FENCED, epoch=4)
    assert (role.is_master, changes) == (True, [])


def test_changes_are_reported_in_order_to_all_listeners() -> None:
    role = ReplicationRole(SLAVE, 1)
    first: list[RoleKind] = []

    def goes_further(before: RoleState, after: RoleState) -> None:
        first.append(after.kind)
        if after.kind is ACTING:
            role.become(FENCED)

    role.on_change(goes_further)
    second = watched(role)
    role.become(ACTING)
    assert first == [ACTING, FENCED]
    assert second == [(SLAVE, ACTING), (ACTING, FENCED)]


def test_one_that_fails_does_not_keep_the_others_from_being_notified(
    caplog: pytest.LogCaptureFixture,
) -> None:
    role = ReplicationRole(MASTER, 0)

    def fails(before: RoleState, after: RoleState) -> None:
        raise OSError("sick")

    role.on_change(fails)
    changes = watched(role)
    with caplog.at_level(logging.ERROR):
        role.become(FENCED)
    assert changes == [(MASTER, FENCED)]
    assert "fails" in caplog.text


@pytest.mark.parametrize("configured", BrokerRole)
def test_the_role_is_shown_as_it_is_and_not_as_it_was_configured(configured: BrokerRole) -> None:
    is_slave = configured is BrokerRole.SLAVE
    role = ReplicationRole.initial(configured, 1 if is_slave else 0)
    assert role.as_broker_role(configured) is configured
    role.become(FENCED)
    assert role.as_broker_role(configured) is configured
    role.become(MASTER)
    as_master = BrokerRole.SYNC_MASTER if is_slave else configured
    assert role.as_broker_role(configured) is as_master
    role.become(FENCED)
    assert role.as_broker_role(configured) is as_master
    for kind in (SLAVE, ACTING, FENCED):
        role.become(kind, broker_id=2)
        assert role.as_broker_role(configured) is BrokerRole.SLAVE


@given(
    st.lists(
        st.tuples(
            st.sampled_from(RoleKind),
            st.none() | st.integers(0, 3),
            st.none() | st.integers(0, 5),
        )
    )
)
def test_whatever_is_asked_for_the_role_stays_one_that_can_be(
    wishes: list[tuple[RoleKind, int | None, int | None]],
) -> None:
    role = ReplicationRole(MASTER, 0)
    changes: list[tuple[RoleState, RoleState]] = []
    role.on_change(lambda before, after: changes.append((before, after)))
    for kind, broker_id, epoch in wishes:
        before = role.state
        try:
            role.become(kind, broker_id=broker_id, epoch=epoch)
        except RoleError:
            assert role.state is before
        after = role.state
        assert after.epoch >= before.epoch
        assert (after.kind is MASTER) <= (after.broker_id == 0)
        assert (after.kind is SLAVE) <= (after.broker_id > 0)
        assert (role.is_master, role.is_fenced) == (after.kind is MASTER, after.kind is FENCED)
        assert role.is_slave == (after.kind in (SLAVE, ACTING))
    assert all(before != after for before, after in changes)
    assert [after for _, after in changes[:-1]] == [before for before, _ in changes[1:]]
