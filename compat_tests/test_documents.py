"""Every block of every page, in its order, with the wheel in a fresh environment and its own server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from compat_tests.support.document_run import running
from compat_tests.support.documents import PAGES, Kind, blocks_of, counted
from compat_tests.support.installed import Installed

PAGES_AT_A_TIME = 3
RUN = [
    name for name, page in PAGES.items() if any(page.kind_of(block) is Kind.RUN for block in blocks_of(name))
]


@pytest.fixture(scope="session")
def with_tracing(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The environment with what the page of the client has traced programs install."""
    command = (installed.python, "-m", "pip", "install", "-q", "opentelemetry-api")
    done = installed.run(*command, cwd=tmp_path_factory.mktemp("pip"))
    assert done.returncode == 0, done.stderr
    return installed


@pytest.fixture(scope="session")
def runs(
    with_tracing: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    """The runs of all pages. Some at a time, as most of a run is waiting."""
    with ThreadPoolExecutor(PAGES_AT_A_TIME) as pool:
        folders = {name: tmp_path_factory.mktemp("page") for name in RUN}
        yield {name: pool.submit(run_page, with_tracing, name, folders[name]) for name in RUN}


def run_page(installed: Installed, name: str, folder: Path) -> None:
    """Run every block of a page in its order; raises AssertionError with the place of the first fault."""
    page = PAGES[name]
    with running(installed, page, folder) as run:
        for block in blocks_of(name):
            if page.kind_of(block) is Kind.EXCEPTED:
                continue
            try:
                run.block(block)
            except Exception as failure:
                raise AssertionError(f"{name}:{block.line}: {block.text}") from failure


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", RUN)
def test_blocks_of_the_page_run_as_printed(
    runs: dict[str, Future[None]], with_tracing: Installed, tmp_path: Path, name: str
) -> None:
    """A second time a page runs alone."""
    if run := runs.pop(name, None):
        run.result()
    else:
        run_page(with_tracing, name, tmp_path)


def test_blocks_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Print how many blocks are run, parsed, compared and excepted, and why the last are."""
    found = (page.reason_of(block) for name, page in PAGES.items() for block in blocks_of(name))
    reasons = Counter(filter(None, found))
    with capsys.disabled():
        print("\nblocks of all pages:", ", ".join(f"{count} {kind}" for kind, count in counted().items()))
        print("".join(f"  {count} not run: {reason}\n" for reason, count in reasons.most_common()), end="")
    assert counted()[Kind.RUN] > 0
