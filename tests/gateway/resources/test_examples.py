"""Examples of the resource commands; that they can be parsed is held by `tests/house/test_commands.py`."""

from mqgateway.gateway.resources import PLACES
from mqgateway.gateway.resources.examples import EXAMPLES


def test_every_command_has_examples_of_its_own() -> None:
    assert EXAMPLES.keys() == PLACES.keys()
    for name, calls in EXAMPLES.items():
        assert all(call.startswith(f"mqgateway {name}") for call in calls)
