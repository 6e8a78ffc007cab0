"""Every block of every page, in its order, with the wheel in a fresh environment and its own server."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from compat_tests.support.document_run import running
from compat_tests.support.documents import PAGES, Kind, blocks_of, counted
from compat_tests.support.installed import Installed


@pytest.fixture(scope="session")
def with_tracing(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The environment with what the page of the client has traced programs install."""
    command = (installed.python, "-m", "pip", "install", "-q", "opentelemetry-api")
    done = installed.run(*command, cwd=tmp_path_factory.mktemp("pip"))
    assert done.returncode == 0, done.stderr
    return installed


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if "" not in page.excepted])
def test_blocks_of_the_page_run_as_printed(with_tracing: Installed, tmp_path: Path, name: str) -> None:
    page = PAGES[name]
    with running(with_tracing, page, tmp_path) as run:
        for block in blocks_of(name):
            if page.kind_of(block) is Kind.EXCEPTED:
                continue
            try:
                run.block(block)
            except AssertionError as failure:
                raise AssertionError(f"{name}:{block.line}: {block.text}") from failure


def test_blocks_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Print how many blocks are run, parsed, compared and excepted, and why the last are."""
    found = (page.reason_of(block) for name, page in PAGES.items() for block in blocks_of(name))
    reasons = Counter(filter(None, found))
    with capsys.disabled():
        print("\nblocks of all pages:", ", ".join(f"{count} {kind}" for kind, count in counted().items()))
        print("".join(f"  {count} not run: {reason}\n" for reason, count in reasons.most_common()), end="")
    assert counted()[Kind.RUN] > 0
