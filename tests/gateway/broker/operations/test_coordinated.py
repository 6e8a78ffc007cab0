from mqgateway.gateway.broker.operations import CoordinatedGroup, CoordinatedTransaction, HangingTransaction
from mqgateway.gateway.broker.operations.coordinated import CoordinatedOperations
from tests.support.gateway.broker.helpers import MemoryBroker

GROUP = CoordinatedGroup("classic", "Empty", "", (), ())
TRANSACTION = CoordinatedTransaction("t", 1, 0, "Ongoing", 5, 60_000, ["T: 0"])
HANGING = HangingTransaction("T", 0, 2, 0, 7, 9, "end it")


class View:
    """A front end with one group and one transaction."""

    def group(self, name: str) -> CoordinatedGroup | None:
        """See `CoordinatorView`."""
        return GROUP if name == "g" else None

    def has_members(self, name: str) -> bool:
        """See `CoordinatorView`."""
        return False

    def transactions(self) -> list[CoordinatedTransaction]:
        """See `CoordinatorView`."""
        return [TRANSACTION]

    def hanging_transactions(self) -> list[HangingTransaction]:
        """See `CoordinatorView`."""
        return [HANGING]


def test_without_a_view_there_are_no_groups_and_transactions() -> None:
    coordinated = CoordinatedOperations(MemoryBroker().broker)
    assert coordinated.group("g") is None
    assert not coordinated.transactions()
    assert not coordinated.hanging_transactions()


def test_attached_view_is_shown() -> None:
    coordinated = CoordinatedOperations(MemoryBroker().broker)
    coordinated.attach(View())
    assert (coordinated.group("g"), coordinated.group("other")) == (GROUP, None)
    assert coordinated.transactions() == [TRANSACTION]
    assert coordinated.hanging_transactions() == [HANGING]
