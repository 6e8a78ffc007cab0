"""Who began a turn ends it."""

from mqgateway.gateway.remoting.turn import Turn


def test_a_turn_belongs_to_who_began_it() -> None:
    turn = Turn()
    assert turn.begin()
    assert not turn.begin()
    turn.end()
    assert turn.begin()
