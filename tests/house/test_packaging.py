"""Files of the packages: they exist and are consistent; `compat_tests` checks that the packages work."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tarfile
from configparser import RawConfigParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from mqgateway.engine.options import load_properties
from mqgateway.gateway.cli.controller import ControllerSettings
from mqgateway.gateway.cli.environment import BROKERS_VARIABLE
from mqgateway.gateway.cli.numbering import numbered
from mqgateway.gateway.cli.served_brokers import STOP_SECONDS
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings
from tests.house.source import ROOT

PACKAGING = ROOT / "packaging"
UNITS = sorted((PACKAGING / "systemd").glob("*.service"))
SCRIPTS = [
    PACKAGING / "room",
    PACKAGING / "image" / "fill",
    *(path for path in sorted((PACKAGING / "image" / "bin").iterdir()) if path.name != "healthcheck"),
    *(PACKAGING / "deb" / name for name in ("postinstall", "preremove", "postremove")),
]
STANDARD = ("mqnamesrv", "mqbroker", "mqcontroller", "mqbrokercontainer", "mqadmin", "mqproxy", "mqshutdown")


class Unit(RawConfigParser):
    """A unit's file; of a name that stands several times the last counts here."""

    def __init__(self, path: Path) -> None:
        super().__init__(strict=False, delimiters="=", interpolation=None)
        self.read(path)

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def test_editable_installation_puts_the_packages_on_the_path_and_nothing_else() -> None:
    """As plain folders, which type checkers see, and without `engine` or `gateway` at the top."""
    links = sorted((PACKAGING / "editable").iterdir())
    names = ["mqgateway", "pyspark_rocketmq", "pyspark_rocketmq_store"]
    assert [link.name for link in links] == names
    assert [link.resolve() for link in links] == [ROOT / name for name in names]
    assert 'package_dir = {"": "packaging/editable"}' in (ROOT / "setup.py").read_text()
    assert (links[0] / "py.typed").exists()


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_unit_is_notified_watched_reread_and_sandboxed(path: Path) -> None:
    service = Unit(path)["Service"]
    assert (service["Type"], service["NotifyAccess"], service["User"]) == ("notify", "main", "rocketmq")
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert int(service["WatchdogSec"]) > 0 and int(service["LimitNOFILE"]) > 21_000
    shut_in = ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables")
    assert all(service[name] == "yes" for name in shut_in) and service["ProtectSystem"] == "strict"
    # Extensions of libraries may make code at run time by libffi.
    assert "MemoryDenyWriteExecute" not in service
    if path.stem == "mqgateway":
        assert service["KillMode"] == "mixed", "brokers are stopped by the main process, once"
    program, *arguments = service["ExecStart"].split()
    assert program == "/opt/mqgateway/bin/mqgateway" and "--data-dir" in arguments


def test_units_differ_in_what_they_run_only() -> None:
    hardening = {path.read_text().partition("# It needs its folder")[2] for path in UNITS}
    assert len(UNITS) == 4 and len(hardening) == 1


def test_a_broker_may_drain_for_less_than_a_stop_may_take() -> None:
    service = Unit(PACKAGING / "systemd" / "mqgateway-broker@.service")["Service"]
    millis = re.fullmatch(r"MQGATEWAY_DRAIN_TIMEOUT_MILLIS=(\d+)", service["Environment"])
    assert millis and int(millis[1]) / 1000 + 30 < int(service["TimeoutStopSec"])


def test_several_brokers_have_time_to_drain_and_stop() -> None:
    """The parent kills a broker that does not stop in that time; its own supervisor must wait longer."""
    unit = Unit(PACKAGING / "systemd" / "mqgateway.service")["Service"]
    assert int(unit["TimeoutStopSec"]) > STOP_SECONDS
    found: dict[str, Any] = yaml.safe_load((PACKAGING / "image" / "compose-cores.yaml").read_text())
    service = found["services"]["serve"]
    (millis,) = [one.partition("=")[2] for one in service["environment"] if "DRAIN_TIMEOUT_MILLIS" in one]
    assert int(service["stop_grace_period"].removesuffix("s")) > STOP_SECONDS + int(millis) / 1000


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_plain_sh_and_may_be_run(path: Path) -> None:
    assert path.read_text().startswith("#!/bin/sh\n") and path.stat().st_mode & 0o111
    assert subprocess.run(["sh", "-n", path]).returncode == 0


def test_the_image_has_the_standards_scripts() -> None:
    assert {path.name for path in (PACKAGING / "image" / "bin").iterdir()} >= {
        *STANDARD,
        "docker-entrypoint.sh",
    }


def test_stopping_by_script_without_a_server() -> None:
    """The words and exit codes of Apache's script."""
    script = PACKAGING / "image" / "bin" / "mqshutdown"

    def said(*words: str) -> tuple[int, str]:
        done = subprocess.run(["sh", script, *words], capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    assert said("controller") == (255, "No mqcontroller running.")
    assert said("brokerContainer") == (255, "No broker container running.")
    assert said()[0] == 0 and said("bogus")[1].startswith("Useage: mqshutdown broker")


@pytest.mark.parametrize("name", ["compose.yaml", "compose-mixed.yaml"])
def test_compose_files_name_the_quick_starts_services(name: str) -> None:
    found: dict[str, Any] = yaml.safe_load((PACKAGING / "image" / name).read_text())
    services = found["services"]
    assert services["namesrv"]["command"] == "sh mqnamesrv"
    assert services["broker"]["command"].startswith("sh mqbroker -c ")
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in found["volumes"] or (PACKAGING / "image" / source).is_file()
    ours = f"${{MQGATEWAY_IMAGE:-mqgateway:{version()}}}"
    assert services["namesrv"]["image"] == services["broker"]["image"] == ours


def test_compose_file_of_several_brokers_publishes_their_ports() -> None:
    found: dict[str, Any] = yaml.safe_load((PACKAGING / "image" / "compose-cores.yaml").read_text())
    service = found["services"]["serve"]
    assert service["command"] == "serve"
    assert service["image"] == f"${{MQGATEWAY_IMAGE:-mqgateway:{version()}}}"
    assert f"{BROKERS_VARIABLE}=${{{BROKERS_VARIABLE}:-2}}" in service["environment"]
    published: set[int] = set()
    for text in service["ports"]:
        inside, _, outside = str(text).partition(":")
        assert inside == outside, "brokers advertise the ports that they listen on"
        first, _, last = inside.partition("-")
        published |= set(range(int(first), int(last or first) + 1))
    settings = BrokerSettings()
    for name, value in (("brokerName", "broker"), ("storePathRootDir", "/d"), ("grpcServerPort", "8081")):
        settings.options.set(name, value)
    for one in numbered(settings, 4):
        port = int(one.settings["listenPort"])
        assert {port - 2, port, port + 1, int(one.settings["grpcServerPort"])} <= published


def version() -> str:
    found = re.search(r"^version = (.*)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)
    assert found
    return found[1]


@pytest.mark.parametrize(
    "path",
    [
        *sorted((PACKAGING / "image" / "conf").glob("broker.conf")),
        *(PACKAGING / "deb" / "conf").glob("*.conf"),
    ],
    ids=lambda path: f"{path.parents[1].name}-{path.stem}",
)
def test_shipped_settings_are_right(path: Path) -> None:
    kinds = {"broker": BrokerSettings, "namesrv": NamesrvSettings, "controller": ControllerSettings}
    options = kinds[path.stem]().options
    assert options.apply(load_properties(path.read_text(), str(path))) == []


def test_the_package_is_made_of_files_that_are_there() -> None:
    described = yaml.safe_load((PACKAGING / "deb" / "nfpm.yaml").read_text())
    sources = [one["src"] for one in described["contents"]] + list(described["scripts"].values())
    named = [source for source in sources if not source.startswith(("/", "$"))]
    assert len(named) > 8 and all((ROOT / source).is_file() for source in named)


@pytest.fixture(scope="module")
def wheels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheels", ROOT / "scripts" / "wheels.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_source_distribution_is_packed_the_same_each_time(wheels: ModuleType, tmp_path: Path) -> None:
    for name, order, mode in (("a", ("x", "y"), 0o600), ("b", ("y", "x"), 0o664)):
        folder = tmp_path / name
        folder.mkdir()
        for each in order:
            (folder / each).write_text(each)
            (folder / each).chmod(mode)
        with tarfile.open(folder / "it.tar.gz", "w:gz") as packed:
            for each in order:
                packed.add(folder / each, each)
        wheels.normalise(folder / "it.tar.gz", 1_700_000_000)
    assert (tmp_path / "a" / "it.tar.gz").read_bytes() == (tmp_path / "b" / "it.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "a" / "it.tar.gz") as packed:
        assert [(one.name, one.mode, one.mtime, one.uid) for one in packed] == [
            ("x", 0o644, 1_700_000_000, 0),
            ("y", 0o644, 1_700_000_000, 0),
        ]


def test_shipped_files_exist(wheels: ModuleType) -> None:
    assert all((ROOT / name).exists() for name in wheels.SHIPPED)
