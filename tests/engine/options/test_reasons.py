"""Reasons are sentences, and all are given somewhere."""

from mqgateway.engine.options import (
    BrokerOptions,
    NamesrvOptions,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
    reasons,
)
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.option import options_of

CLASSES = (BrokerOptions, StoreOptions, RemotingOptions, TlsOptions, NamesrvOptions, ControllerOptions)
REASONS = [value for name, value in vars(reasons).items() if name.isupper()]


def test_every_reason_is_given() -> None:
    given = set()
    for options_class in CLASSES:
        for option in (*options_of(options_class), *options_class.also_accepted):
            given.add(option.no_effect)
            given.update(option.unavailable.values())
    assert set(REASONS) <= given


def test_a_reason_fits_behind_a_colon() -> None:
    assert all(reason[0].islower() for reason in REASONS)
    assert not any(reason.endswith(".") for reason in REASONS)
