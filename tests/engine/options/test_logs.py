"""Levels of loggers as a setting: valid values, and the errors of invalid ones."""

import pytest

from mqgateway.engine.options import BrokerOptions, OptionSet, Setting
from mqgateway.engine.options.logs import levels_of
from mqgateway.engine.options.option import BadValue


def test_levels_by_names() -> None:
    assert levels_of("") == {}
    assert levels_of(" mqgateway.stats:INFO , a.b : debug,") == {"mqgateway.stats": "info", "a.b": "debug"}


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("a.b", "a.b:debug"),
        ("a.b:debg", "a.b:debug"),
        ("a.b:warn", "a.b:warning"),
        (":info", "mqgateway.gateway.broker:info"),
        ("a:info,b:verbose", "b:debug"),
    ],
)
def test_invalid_level_is_refused_with_a_suggestion(text: str, suggestion: str) -> None:
    with pytest.raises(BadValue) as caught:
        levels_of(text)
    assert caught.value.suggestion == suggestion
    options = OptionSet(BrokerOptions())
    (problem,) = options.check([Setting("logLevels", text, 3, "broker.conf")])
    assert problem.severity == "error" and "debug, info, warning, error" in problem.what
