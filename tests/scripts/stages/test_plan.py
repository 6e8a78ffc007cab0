"""Every test of the repository is in a stage, and the list of compiled modules' tests follows setup.py."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from _pytest.mark.expression import Expression

from scripts.stages.plan import EXTENSION_TESTS, ROOT, Stage, first, hot_modules, hot_tests, plans

SETUP = (ROOT / "setup.py").read_text()
MARKS = ("slow", "hypothesis", "core", "long", "kafka")
"""Every marker that a stage selects by."""
PRODUCT = ("engine", "gateway", "pipeline", "mqgateway")


def folders_with_tests() -> set[str]:
    """Return the top folders that contain test files."""
    tops = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "build"))]
    return {path.name for path in tops if path.name not in PRODUCT and any(path.rglob("test_*.py"))}


def stages() -> list[Stage]:
    return [stage for plan in plans(SETUP) for stage in plan.stages]


def selects(stage: Stage, folder: str, marks: Mapping[str, bool]) -> bool:
    """Return True if a stage runs the tests of a folder with these markers."""
    matches: Callable[..., bool] = lambda name, /, **_: marks[name]  # noqa: E731
    return folder in stage.folders and (not stage.marks or Expression.compile(stage.marks).evaluate(matches))


def test_every_test_is_in_a_stage() -> None:
    """For every folder and every combination of markers there is a stage that selects it."""
    combinations = [
        dict(zip(MARKS, values, strict=True))
        for values in itertools.product([True, False], repeat=len(MARKS))
    ]
    lost = [
        f"{folder} {sorted(name for name, is_set in marks.items() if is_set)}"
        for folder in sorted(folders_with_tests())
        for marks in combinations
        if not any(selects(stage, folder, marks) for stage in stages())
    ]
    assert folders_with_tests() >= {"tests", "compat_tests", "browser_tests"} and not lost


def test_ci_runs_every_test_but_the_long_run() -> None:
    """Stage one leaves out what passed before only when it runs by itself."""
    assert "scripts/test --all" in (ROOT / ".ci" / "run").read_text()
    (core,) = (stage for stage in first(SETUP, repeat=True).stages if stage.name == "core")
    assert "changed" not in core.options


def test_lanes_of_a_plan_use_environments_of_their_own() -> None:
    for plan in plans(SETUP):
        used = {(stage.environment, stage.lane) for stage in plan.stages}
        assert len(used) == len({environment for environment, _ in used}), plan.title


def test_every_marker_of_a_stage_is_known() -> None:
    named = {word for stage in stages() for word in re.findall(r"\w+", stage.marks)}
    assert named - {"and", "or", "not"} <= {*MARKS}


def environments(described: str) -> set[str]:
    """Return the environments of a tox file; `a{,b}` are two of them."""
    found = set()
    for name in re.findall(r"^\[testenv:(.+)]$", described, re.MULTILINE):
        before, _, rest = name.partition("{")
        found |= {before + factor for factor in rest.rstrip("}").split(",")}
    return found


def test_stages_are_the_environments_that_test() -> None:
    """A new environment is in a stage from the beginning, or it is no test."""
    described = environments((ROOT / "tox.ini").read_text())
    assert {stage.environment for stage in stages()} == described - {"bench"}


def test_every_compiled_module_has_its_tests_in_stage_one() -> None:
    modules = hot_modules(SETUP)
    (compiled,) = (stage for stage in first(SETUP).stages if stage.name == "compiled")
    assert len(compiled.folders) == len(modules) + len(EXTENSION_TESTS) == len(set(compiled.folders))
    assert "mqgateway/engine/message.py" in modules and "tests/engine/test_message.py" in compiled.folders
    assert not [path for path in compiled.folders if not (ROOT / path).is_file()]


def test_hot_tests_follow_the_mirror_tree() -> None:
    setup = 'HOT_MODULES = [\n    "mqgateway/engine/store/log.py",\n    "mqgateway/gateway/cold.py",\n]\n'
    assert hot_tests(setup)[len(EXTENSION_TESTS) :] == (
        "tests/engine/store/test_log.py",
        "tests/gateway/test_cold.py",
    )


def test_no_peers_leaves_out_the_core_and_what_takes_minutes_to_build() -> None:
    every, without = first(SETUP).stages, first(SETUP, peers=False).stages
    assert [stage.name for stage in every if stage not in without] == ["compiled", "core"]
    assert not any("peers" in stage.needs for stage in without)


def test_arguments_of_a_stage_are_those_of_pytest() -> None:
    stage = Stage("unit", "unit", "not slow", ("tests",), ("--maxfail", "1"))
    assert stage.arguments() == ["tests", "-m", "not slow", "--maxfail", "1"]


def test_no_test_file_is_outside_of_the_folders() -> None:
    assert not list(Path(ROOT).glob("test_*.py"))
