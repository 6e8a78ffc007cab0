"""The options of the test command choose plans and stages."""

from __future__ import annotations

import pytest

from scripts.stages.__main__ import chosen, main, parser
from scripts.stages.plan import WORKERS


def names(*arguments: str) -> list[str]:
    return [stage.name for plan in chosen(parser().parse_args([*arguments])) for stage in plan.stages]


def test_options_choose_stages() -> None:
    assert names() == ["lint", "unit", "types", "compiled", "core"]
    assert names("--no-peers") == ["lint", "unit", "types"]
    assert names("--all")[:5] == names() and "slow" in names("--all") and "helm" not in names("--all")
    assert names("--long")[0] == "long RocketMQ" and "lint" not in names("--long")
    assert names("--only", "unit", "--only", "lint") == ["lint", "unit"]


@pytest.mark.parametrize(
    ("arguments", "value"), [((), "changed"), (("--repeat",), "all"), (("--all",), "all")]
)
def test_proven_scenarios_run_again_when_asked_for(arguments: tuple[str, ...], value: str) -> None:
    plans = chosen(parser().parse_args([*arguments]))
    (core,) = (stage for plan in plans for stage in plan.stages if stage.name == "core")
    assert core.options == ("--ours", value, *WORKERS)


def test_unknown_stage_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "units"]) == 2
    assert "--only units: no such stage here; there are lint, unit, types" in capsys.readouterr().err
