"""The smallest id of a group, and acting slaves."""

from mqgateway.engine.ha.member_group import QUIET_MILLIS, MemberGroup, MinIdChange

MASTER, SLAVE, OTHER = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"


def test_a_slave_acts_while_it_has_the_smallest_id() -> None:
    group = MemberGroup(1)
    assert group.update({0: MASTER, 1: SLAVE}) is None
    assert not group.acts
    assert group.update({1: SLAVE, 2: OTHER}) == MinIdChange()
    assert group.acts
    assert (group.min_id, group.min_address) == (1, SLAVE)
    assert group.update({1: SLAVE, 2: OTHER}) is None


def test_only_the_first_slave_acts() -> None:
    group = MemberGroup(2)
    group.update({1: SLAVE, 2: OTHER})
    assert not group.acts
    group.update({2: OTHER})
    assert group.acts
    group.noticed(1, SLAVE, "")
    assert not group.acts


def test_master_that_is_there_again_is_reported() -> None:
    group = MemberGroup(1)
    group.noticed(1, SLAVE, "")
    assert group.noticed(0, MASTER, "10.0.0.1:10912") == MinIdChange(MASTER, "10.0.0.1:10912")
    assert not group.acts
    assert group.noticed(0, MASTER, "10.0.0.1:10912") is None


def test_a_master_never_acts() -> None:
    group = MemberGroup(0)
    assert group.update({1: SLAVE}) is None
    assert not group.acts


def test_empty_member_list_changes_nothing() -> None:
    """A name server that has just started returns it."""
    group = MemberGroup(1)
    assert group.update({}) is None
    assert group.min_id == 0


def test_alive_count_includes_own_broker() -> None:
    group = MemberGroup(1)
    group.update({0: MASTER})
    assert group.alive == 2
    group.update({0: MASTER, 1: SLAVE, 2: OTHER})
    assert group.alive == 3


def test_a_slave_with_a_living_stream_leaves_the_work_to_its_master() -> None:
    """The master is only isolated from the name servers."""
    group = MemberGroup(1)
    group.update({1: SLAVE})
    assert not group.serves(0, follows=True)
    assert group.serves(0, follows=False)


def test_once_the_master_has_announced_itself_the_work_is_its_own() -> None:
    group = MemberGroup(1)
    group.update({1: SLAVE})
    group.announced(1000)
    assert not group.serves(1000 + QUIET_MILLIS - 1, follows=False)
    assert group.serves(1000 + QUIET_MILLIS, follows=False)
