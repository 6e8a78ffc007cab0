"""Options, fixtures and the choice of servers and clients for each scenario."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.official import table
from compat_tests.official.results import Results
from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.installed import Installed, install
from compat_tests.support.overlap import Overlap, kind_of
from compat_tests.support.peers import KINDS, VARIANTS, Peer, Peers, chosen_kinds
from compat_tests.support.runtime import choose
from compat_tests.support.selection import Selection, is_core
from compat_tests.support.transcripts import Transcripts
from compat_tests.support.workers import Workers

TEST_SECONDS = 600
KAFKA = Path(__file__).parent / "kafka"
PEERS = pytest.StashKey[Peers]()
OFFICIAL = pytest.StashKey[Results]()
SELECTION = pytest.StashKey[Selection]()
WORKERS = pytest.StashKey[Workers]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--server", choices=[*KINDS, "both"], default="both", help="which servers to test")
    parser.addoption(
        "--runtime", choices=["docker", "local", "auto"], default="auto", help="where clients run"
    )
    parser.addoption(
        "--apache",
        choices=["changed", "all"],
        default="changed",
        help="scenarios to run on Apache's server: those that are not as they were when they passed, or all",
    )
    parser.addoption(
        "--ours",
        choices=["changed", "all"],
        default="all",
        help="other scenarios: those that did not pass with today's sources of suite and product, or all",
    )
    parser.addoption(
        "--record-apache", action="store_true", help="write down what came of scenarios on Apache's server"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "overlap: waits a lot, so runs beside others of its kind")
    config.addinivalue_line("markers", "alone: has little time, so comes when what overlaps is done")
    config.addinivalue_line("markers", "core: in stage one of the test command; set by file, not by hand")
    config.addinivalue_line("markers", "long: in the long run only, which is started by hand")
    config.addinivalue_line("markers", "kafka: of Kafka's clients and tools; set by folder, not by hand")
    config.addinivalue_line("markers", "both_servers: needs both servers")
    config.addinivalue_line("markers", "every_variant: also with the binary header form and with TLS")
    selection = config.stash[SELECTION] = Selection(config)
    config.stash[WORKERS] = Workers(config, selection)
    config.pluginmanager.register(config.stash[WORKERS], "workers")


def is_scenario(item: pytest.Item) -> bool:
    """Return True if an item is of this folder."""
    return Path(__file__).parent in item.path.parents


def pytest_itemcollected(item: pytest.Item) -> None:
    """Set the timeout that real processes need, and the markers that follow from the scenario's file.

    A scenario with Apache's server may run twice: failures of that server under load cannot be fixed here. A
    scenario with this server alone may not.
    """
    if is_scenario(item):
        if kind_of(item) == "apache" or item.get_closest_marker("both_servers") is not None:
            item.add_marker(pytest.mark.flaky(reruns=1))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
        if is_core(item):
            item.add_marker(pytest.mark.core)
        if KAFKA in item.path.parents:
            item.add_marker(pytest.mark.kafka)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect scenarios that are already proven; group the others by server."""
    ours = [item for item in items if is_scenario(item)]
    config.stash[SELECTION].choose(items, ours)
    order = {None: 2, "apache": 0, "ours": 1}

    def place(item: pytest.Item) -> tuple[bool, int, bool]:
        return item in ours, order[kind_of(item)], item.get_closest_marker("alone") is not None

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the outcome of a scenario for the record."""
    report = yield
    selection = item.config.stash.get(SELECTION, None)
    if selection is not None and is_scenario(item):
        selection.keep(item, report)
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize ``peer`` by each chosen server and client, and ``kind`` by each chosen server."""
    kinds = chosen_kinds(metafunc.config)
    if "peer" in metafunc.fixturenames:
        every = metafunc.definition.get_closest_marker("every_variant")
        pairs = [(kind, variant) for kind in kinds for variant in (VARIANTS if every else CLIENT_VERSIONS)]
        names = [f"{kind}-{variant}" for kind, variant in pairs]
        metafunc.parametrize("peer", pairs, ids=names, indirect=True, scope="session")
    elif "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", kinds, scope="session")


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run: stores, logs, offsets of clients."""
    return tmp_path_factory.mktemp("compat")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment of its own."""
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def peers(request: pytest.FixtureRequest, work: Path) -> Iterator[Peers]:
    """The servers and client JVMs of the run."""
    runtime = choose(request.config.getoption("--runtime"), work)
    request.config.stash[WORKERS].report(f"\nofficial clients run in: {runtime.title}; logs in {work}")
    option = request.config.getoption
    transcripts = Transcripts(
        is_apache_asked=option("--apache") == "all", is_recording=option("--record-apache")
    )
    peers = request.config.stash[PEERS] = Peers(runtime, work, transcripts)
    try:
        yield peers
    finally:
        peers.close()
        runtime.close()


@pytest.fixture(scope="session")
def overlap(request: pytest.FixtureRequest, peers: Peers) -> Iterator[Overlap]:
    """The runner of the scenarios that wait."""
    overlap = Overlap(request.session.items, peers)
    yield overlap
    overlap.close()


@pytest.fixture(scope="session")
def peer(request: pytest.FixtureRequest, peers: Peers, overlap: Overlap) -> Peer:
    """A shared server of one kind with one client JVM."""
    return peers.peer(*request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """Take the result of a scenario marked ``overlap`` from its thread instead of calling it."""
    if pyfuncitem.get_closest_marker("overlap") is None:
        return None
    pyfuncitem._request.getfixturevalue("overlap").result(pyfuncitem)
    return True


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the shared servers of a kind after its last scenario."""
    kind = kind_of(item)
    if kind is not None and nextitem is not None and kind_of(nextitem) != kind:
        peers = item.config.stash.get(PEERS, None)
        if peers is not None:
            peers.release(kind)


def pytest_report_header(config: pytest.Config) -> str:
    """Return the requested options; the actual runtime is printed when the clients start."""
    wish = config.getoption("--runtime")
    return f"compat: server={config.getoption('--server')} runtime={wish} CI={os.environ.get('CI', '')}"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report scenarios that were proven before, and the results of Apache's own tests if they ran."""
    selection = config.stash.get(SELECTION, None)
    for line in selection.lines() if selection is not None else []:
        terminalreporter.write_line(line)
    results = config.stash.get(OFFICIAL, None)
    if results is not None:
        terminalreporter.section("Apache's own integration tests, against this server")
        for line in table.of_a_run(results):
            terminalreporter.write_line(line)
