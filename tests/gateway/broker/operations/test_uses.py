"""Uses of the broker."""

from mqgateway.gateway.broker.needs import Needs
from mqgateway.gateway.broker.operations import Use


def test_use_has_a_label_and_the_need_of_the_role() -> None:
    assert (Use.PULL.label, Use.PULL.needs) == ("pull", Needs.NO_TRACE)
    assert (Use.SEND.label, Use.SEND.needs) == ("send", Needs.MASTER)


def test_uses_have_different_labels() -> None:
    assert len({use.label for use in Use}) == len(Use)
