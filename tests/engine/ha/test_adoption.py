"""Adoption of consumer offsets by a slave."""

from mqgateway.engine.ha.adoption import OffsetAdoption, Place, taken_back

PLACE = ("g", "t", 0)


class Slave:
    """Offsets of a slave whose queue has `held` messages."""

    def __init__(self, held: int = 100) -> None:
        self.held = held
        self.own: dict[Place, int] = {}
        self._adoption = OffsetAdoption()

    def hear(self, offset: int) -> int:
        """Return the slave's offset after this report of the master."""
        changes = self._adoption.changes(
            {PLACE: offset}, lambda _topic, _queue: self.held, lambda *place: self.own.get(place, -1)
        )
        self.own.update(list(changes))
        return self.own[PLACE]


def test_offsets_of_master_are_adopted() -> None:
    slave = Slave()
    assert [slave.hear(5), slave.hear(7)] == [5, 7]


def test_commit_on_slave_is_kept_until_master_changes() -> None:
    slave = Slave()
    slave.hear(5)
    slave.own[PLACE] = 9
    assert slave.hear(5) == 9
    assert slave.hear(6) == 6


def test_a_reset_on_the_master_is_followed() -> None:
    slave = Slave()
    slave.hear(50)
    assert slave.hear(10) == 10


def test_no_offset_lies_behind_what_the_slave_has() -> None:
    """Otherwise messages written here after a failover would be skipped."""
    slave = Slave(held=30)
    assert slave.hear(50) == 30
    slave.held = 45
    assert slave.hear(50) == 45
    slave.held = 60
    assert slave.hear(50) == 50


def test_an_offset_that_went_back_here_is_put_right() -> None:
    slave = Slave()
    slave.hear(50)
    slave.own[PLACE] = 20
    assert slave.hear(50) == 50


def test_master_that_comes_back_continues_where_groups_went_meanwhile() -> None:
    """Never back, and never beyond the master's log."""
    own = {("g", "t", 0): 10, ("g", "t", 1): 20}
    reported = {("g", "t", 0): 15, ("g", "t", 1): 5, ("g", "t", 2): 70, ("h", "u", 0): 0}
    changes = dict(taken_back(reported, lambda _topic, _queue: 50, lambda *place: own.get(place, -1)))
    assert changes == {("g", "t", 0): 15, ("g", "t", 2): 50, ("h", "u", 0): 0}
