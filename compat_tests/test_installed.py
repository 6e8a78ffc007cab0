"""The installed package in a fresh environment, and in a project with folders of the same names."""

from __future__ import annotations

import subprocess
import tarfile
import time
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from compat_tests.support.installed import Installed
from compat_tests.support.processes import free_ports, stop
from compat_tests.support.servers import HOST

TEN_LINES = """\
from mqgateway import Message, Producer


def test_a_delayed_order(rocketmq_server, rocketmq_topic):
    with Producer("orders", rocketmq_server.namesrv) as producer:
        producer.send(Message(rocketmq_topic, "book", delay_level=16))
    assert rocketmq_server.messages(rocketmq_topic) == []
    rocketmq_server.advance(1800)
    rocketmq_server.wait_for_messages(rocketmq_topic, 1)
    assert [one.body for one in rocketmq_server.messages(rocketmq_topic)] == [b"book"]
"""

THEIR_FOLDERS = ("engine", "gateway", "pipeline")
THEIR_TEST = """\
import engine, gateway, pipeline
from mqgateway import Message, Producer


def test_their_folders_are_theirs():
    assert [one.OWNER for one in (engine, gateway, pipeline)] == ["them"] * 3


def test_the_fixtures_are_there_too(rocketmq_server, rocketmq_topic):
    with Producer("orders", rocketmq_server.namesrv) as producer:
        producer.send(Message(rocketmq_topic, "book"))
    assert [one.body for one in rocketmq_server.messages(rocketmq_topic)] == [b"book"]
"""


def test_a_fresh_environment_and_ten_lines(
    installed: Installed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package and pytest are installed; a test of ten lines finds the fixtures."""
    assert len(TEN_LINES.splitlines()) <= 10 + 1
    (tmp_path / "test_orders.py").write_text(TEN_LINES)
    began = time.monotonic()
    done = installed.run(installed.python, "-m", "pytest", "-q", "--durations=3", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    with capsys.disabled():
        print(f"\nten lines in a fresh environment: {time.monotonic() - began:.1f} s in all\n{done.stdout}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a user's project whose folders have the names of ours."""
    for name in THEIR_FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('OWNER = "them"\n')
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "test_theirs.py").write_text(THEIR_TEST)
    return tmp_path


def test_a_project_with_folders_of_our_names_keeps_them(installed: Installed, project: Path) -> None:
    by_module = installed.run(installed.python, "-m", "pytest", "-q", cwd=project)
    assert by_module.returncode == 0 and "2 passed" in by_module.stdout, by_module.stdout + by_module.stderr
    (project / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    by_command = installed.run(installed.command("pytest"), "-q", cwd=project)
    assert by_command.returncode == 0 and "2 passed" in by_command.stdout, (
        by_command.stdout + by_command.stderr
    )


def test_the_commands_run_in_such_a_project(installed: Installed, project: Path) -> None:
    """A server, a send and a receive, each by the installed command."""
    namesrv, broker = free_ports(), free_ports((-2, 0, 1))
    serve = [installed.command("mqgateway"), "serve", "--bind", HOST, "--advertise", HOST]
    serve += ["--data-dir", "data", "--namesrv-port", str(namesrv), "--broker-port", str(broker)]
    server = subprocess.Popen(
        serve, cwd=project, env=installed.variables(), stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        assert any(line.startswith("ready in") for line in server.stdout)
        at = ("--namesrv", f"{HOST}:{namesrv}")
        mqgateway = installed.command("mqgateway")
        sent = installed.run(mqgateway, "send", "Orders", "book", *at, cwd=project)
        assert sent.returncode == 0, sent.stderr
        got = installed.run(
            mqgateway, "consume", "Orders", "-g", "shop", "--from", "first", "--max", "1", *at, cwd=project
        )
        assert got.returncode == 0 and "book" in got.stdout, got.stdout + got.stderr
    finally:
        stop(server)
    assert server.returncode == 0


def test_contents_of_a_wheel(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
        (description,) = (wheel.read(name) for name in names if name.endswith("/METADATA"))
        (commands,) = (wheel.read(name).decode() for name in names if name.endswith("/entry_points.txt"))
    parts = [name.split("/") for name in names if ".dist-info/" not in name]
    pages = {tuple(part[1:-1]) for part in parts if part[0].endswith(".data")}
    assert pages == {("data", "share", "man", "man1")}
    tops = {part[0] for part in parts if not part[0].endswith(".data")}
    assert tops == {"mqgateway", "pyspark_rocketmq", "pyspark_rocketmq_store"}
    assert "mqgateway/py.typed" in names and "mqgateway/engine/store/commit_log.py" in names
    assert all(" = mqgateway." in line for line in commands.splitlines() if "=" in line)
    page = message_from_bytes(description)
    assert page["Author"] and page["Keywords"]
    assert (page["License-Expression"], page["License-File"]) == ("Apache-2.0", "LICENSE")
    extras = page.get_all("Provides-Extra")
    assert extras is not None and {"all", "grpc", "otel", "spark", "web"} <= set(extras)
    # A link to a file of the repository would lead nowhere on a package index.
    assert "](docs/" not in str(page.get_payload()) and "docs/client.md" in str(page.get_payload())


def test_contents_of_a_source_distribution(installed: Installed, tmp_path: Path) -> None:
    build = (installed.python, "-m", "pip", "install", "-q", "setuptools >= 77")
    assert installed.run(*build, cwd=tmp_path).returncode == 0
    made = installed.run(
        installed.python, "setup.py", "-q", "sdist", "-d", str(tmp_path), cwd=installed.source
    )
    assert made.returncode == 0, made.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    docs = {str(path.relative_to(installed.source)) for path in (installed.source / "docs").rglob("*.md")}
    assert docs | {"CHANGELOG.md", "LICENSE", "README.md", "mqgateway/engine/store/commit_log.py"} <= names
    assert not any(name.endswith((".so", ".pyc")) for name in names)
