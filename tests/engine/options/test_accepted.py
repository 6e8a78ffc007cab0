"""Properties without effect: known, typed, and each with its reason."""

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, RemotingOptions, StoreOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.option import BadValue, Option, options_of

CLASSES = (BrokerOptions, StoreOptions, RemotingOptions, NamesrvOptions, ControllerOptions)
ALL = [option for options_class in CLASSES for option in options_class.also_accepted]


def test_no_property_is_declared_twice() -> None:
    for options_class in CLASSES:
        names = [option.name for option in (*options_of(options_class), *options_class.also_accepted)]
        assert len(names) == len(set(names))


def test_each_has_a_reason() -> None:
    assert all(len(option.no_effect) > 10 for option in ALL)


def test_values_are_checked_all_the_same() -> None:
    numbers = [option for option in ALL if isinstance(option.default, int | float)]
    assert numbers and not [option.name for option in numbers if accepts_nonsense(option)]


def accepts_nonsense(option: Option) -> bool:
    try:
        option.parse("nonsense")
    except BadValue:
        return False
    return True
