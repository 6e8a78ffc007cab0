"""Names that `broker.operations` exports; most are loaded when they are first used."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker import operations


@pytest.mark.parametrize("name", operations.__all__)
def test_exported_name_is_found(name: str) -> None:
    assert getattr(operations, name) is not None


def test_other_name_is_not_exported() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        operations.Other  # noqa: B018


def test_names_loaded_on_first_use_are_exported() -> None:
    private = {"Broker", "CallerAccess", "ClientMetricsOperations", "ClientQuotaOperations"}
    assert not private & set(operations._PLACE_OF)
    assert set(operations._PLACE_OF) <= set(operations.__all__)
