"""The stages: which tests each of them runs, in which tox environment, and what it needs on the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PATIENCE = "--timeout=300"
"""Seconds for a test: stages run beside each other, and a test alone may take 60 (`setup.cfg`)."""
WORKERS = ("-n", "4")
"""Processes for scenarios with official clients, which wait most of the time, so more than processors."""
STEADY_WORKERS = ("-n", "3")
"""Processes for the scenarios of stage two, among which are clients that give up after three seconds."""
PAIRS = ("-n", "2")
"""Processes for long scenarios, which keep several servers busy."""
DURATIONS = ("--durations", "20")
"""The slowest scenarios are listed: a stage that took longer than usual shows where."""
QUICK = ("--hypothesis-profile", "quick", PATIENCE)
FULL = ("--hypothesis-profile", "full", PATIENCE)

COMPILER, PEERS, SERVERS, SHELLS, BROWSER, LONG = "compiler", "peers", "servers", "shells", "browser", "long"
"""Groups of programs, by which `machine` installs what is missing."""
UNIT_NEEDS = (SHELLS, COMPILER)


@dataclass(frozen=True)
class Stage:
    """A run of one tox environment.

    Attributes:
        name: Shown in the report; names the log file.
        environment: The tox environment.
        marks: The marker expression that selects tests; empty for all.
        folders: Test folders and files; empty for a stage without pytest.
        options: More arguments for pytest.
        needs: Groups of programs.
        lane: Stages of a lane run one after the other, lanes beside each other; all but lane 0 run at low
            priority, for the processor time that it leaves. Two lanes must not use the same environment.
    """

    name: str
    environment: str
    marks: str = ""
    folders: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    lane: int = 0

    def arguments(self) -> list[str]:
        """Return the arguments for the environment's command; most commands name their folder themselves."""
        folders = [folder for folder in self.folders if not folder.endswith("_tests")]
        chosen = ["-m", self.marks] if self.marks else []
        return [*folders, *chosen, *self.options]


@dataclass(frozen=True)
class Plan:
    """Stages that belong together, in lanes."""

    title: str
    stages: tuple[Stage, ...]


EXTENSION_TESTS = tuple(
    f"tests/engine/test_extension{subject}.py" for subject in ("", "_batches", "_building", "_expansion")
)
"""Comparisons of functions in C with their forms in Python."""


def hot_modules(setup: str) -> list[str]:
    """Return the modules that `setup.py` compiles; the text is not run, as that would build."""
    inside = setup.partition("HOT_MODULES = [")[2].partition("]")[0]
    return [line.strip().strip('",') for line in inside.splitlines() if line.strip()]


def hot_tests(setup: str) -> tuple[str, ...]:
    """Return the test files of the compiled modules, by the mirror tree, and those of the extension in C."""
    paths = [Path(module).relative_to("mqgateway") for module in hot_modules(setup)]
    return (*EXTENSION_TESTS, *(f"tests/{path.parent}/test_{path.name}" for path in paths))


COMPILED_FOLDERS = (
    *EXTENSION_TESTS,
    *(f"tests/engine/{name}" for name in ("ha", "store", "upkeep")),
    *(f"tests/gateway/{name}" for name in ("broker", "client", "codec", "kafka", "remoting", "testing")),
)
"""Tests of what compiled modules do; the others spend their time elsewhere."""


def first(setup: str, *, peers: bool = True, repeat: bool = False) -> Plan:
    """Return stage one: what a developer waits for.

    Args:
        setup: The text of `setup.py`.
        peers: Run the compatibility core too, and the compiled modules, whose build takes minutes.
        repeat: Run scenarios again that have passed with the same sources.
    """
    proven = ("--ours", "all" if repeat else "changed")
    quick = (
        Stage("lint", "lint"),
        Stage(
            "unit", "unit", "not slow", ("tests",), (*QUICK, "--log-durations"), (SHELLS, COMPILER), lane=1
        ),
        Stage("types", "types", lane=2),
    )
    others = (
        Stage("compiled", "compiled", "not slow", hot_tests(setup), QUICK, (COMPILER,), lane=2),
        Stage("core", "compat", "core and not long", ("compat_tests",), (*proven, *WORKERS), (PEERS,)),
    )
    return Plan("stage one", (*quick, *others) if peers else quick)


SECOND = Plan(
    "stage two",
    (
        Stage("browser", "browser", "", ("browser_tests",), (), (BROWSER,)),
        Stage(
            "compatibility",
            "compat",
            "not core and not long",
            ("compat_tests",),
            (*STEADY_WORKERS, *DURATIONS),
            (PEERS, SERVERS),
        ),
        Stage("site", "docs", lane=1),
        Stage("all compiled", "compiled", "", COMPILED_FOLDERS, QUICK, (COMPILER, SHELLS), lane=1),
        Stage("slow", "unit", "slow or hypothesis", ("tests",), FULL, UNIT_NEEDS, lane=1),
    ),
)
"""Stage two: every other test that takes minutes at most."""

LONG_RUN = Plan(
    "the long run",
    (
        Stage(
            "long RocketMQ", "compat", "long and not kafka", ("compat_tests",), PAIRS, (PEERS, SERVERS, LONG)
        ),
        Stage("long Kafka", "compat", "long and kafka", ("compat_tests",), PAIRS, (PEERS, SERVERS, LONG)),
        Stage("spark", "spark", "", ("spark_tests",), (), (PEERS,)),
        Stage("oldest spark", "spark42", "", ("spark_tests",), (), (PEERS,)),
        Stage("helm", "helm", "", ("helm_tests",), (), (SERVERS, PEERS)),
        Stage("examples compiled", "compiled", "hypothesis", COMPILED_FOLDERS, FULL, (COMPILER, SHELLS)),
        Stage("sanitizers", "sanitizers", needs=(COMPILER,)),
        Stage("leaks", "leaks", needs=(COMPILER,)),
    ),
)
"""The long run: by hand, before a release; `docs/compatibility.md` has its last result."""


def plans(setup: str) -> Sequence[Plan]:
    """Return all plans: together they run every test of the repository."""
    return first(setup), SECOND, LONG_RUN
