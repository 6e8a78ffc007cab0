"""Settings as types equal the options; that mypy finds errors in them, `tests/types` shows."""

from __future__ import annotations

import ssl
from enum import StrEnum
from typing import Any, Literal, get_type_hints

import pytest

from mqgateway.engine.options.option import Option, options_of
from mqgateway.gateway.client.options import (
    ClientOptions,
    ConsumerOptions,
    LitePullOptions,
    ProducerOptions,
    PullOptions,
    PushOptions,
    SimpleOptions,
)
from mqgateway.gateway.client.settings import (
    ClientSettings,
    ConsumerSettings,
    LitePullSettings,
    ProducerSettings,
    PullSettings,
    PushSettings,
    SimpleSettings,
)

PAIRS = [
    (ClientOptions, ClientSettings),
    (ProducerOptions, ProducerSettings),
    (ConsumerOptions, ConsumerSettings),
    (PushOptions, PushSettings),
    (PullOptions, PullSettings),
    (SimpleOptions, SimpleSettings),
    (LitePullOptions, LitePullSettings),
]


@pytest.mark.parametrize(("options", "settings"), PAIRS, ids=lambda kind: kind.__name__)
def test_types_are_those_of_the_options(options: type[ClientOptions], settings: type[Any]) -> None:
    of_options = {one.attribute: _type_of(one) for one in options_of(options)}
    assert get_type_hints(settings) == {**of_options, "ssl_context": ssl.SSLContext | None}
    assert not settings.__required_keys__


def _type_of(option: Option) -> Any:
    kind = type(option.default)
    if issubclass(kind, StrEnum):
        return kind | Literal[tuple(choice.value for choice in kind)]  # type: ignore[operator]
    return kind
