"""The brokers of `mqgateway serve --brokers`: their number, and the settings in which they differ.

Broker `i` has every port of the first broker plus 10 * i, the name `brokerName-i`, and the folder `broker-i`
below `storePathRootDir`. Kafka, the console, health and metrics have one port each: the first broker serves
Kafka and the console, the parent process health and metrics.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerRole, Setting, SettingProblem
from mqgateway.engine.options.container import SupervisionOptions
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.gateway.cli.reading import apply_all, find_out_all
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings

log = logging.getLogger(__name__)

AUTO = "auto"
STEP = 10
"""Distance of the ports of two brokers. A broker uses the port two below its own and the one above, too."""
ORIGIN = "--brokers"
BROKERS_MAX = SupervisionOptions().max_brokers
FOLDER = "broker-"
LOG_FOLDER = "commitlog"
ASKED = "brokers"
"""File beside the folders: the value of `--brokers` at the last start."""
REMOVED = "removed"
"""File in the folder of a broker that was removed: the time in ms, and the number of messages left there.

The store is kept, and not served.
"""
_FOLDERS = re.compile(FOLDER + "[0-9]{1,4}")

COUNTED = ("listenPort", "haListenPort", "grpcServerPort")
"""Properties of ports that each broker has; 0 stays 0."""
OF_THE_FIRST = ("kafkaPort", "consolePort")
"""Properties of ports that only the first broker has."""
PRIVATE = ("storePathCommitLog", "storePathEpochFile", "storePathBrokerIdentity")
"""Properties of paths that several brokers cannot share."""


def asked_count(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    """Return the value of `--brokers`: a number or `auto`. Raises `click.BadParameter`."""
    text = value.strip()
    if text == AUTO:
        return AUTO
    if not text.isdecimal() or not 1 <= int(text) <= BROKERS_MAX:
        raise click.BadParameter(f"{text} is not a number from 1 to {BROKERS_MAX}, or {AUTO}")
    return int(text)


@dataclass(frozen=True)
class NumberedBroker:
    """One of several brokers: its number, name, store folder, and the settings in which it differs."""

    number: int
    name: str
    folder: str
    settings: Mapping[str, str]

    def overrides(self) -> list[Setting]:
        """Return the settings, to be applied above all others."""
        return [Setting(name, value, 0, ORIGIN) for name, value in self.settings.items()]


def stores_in(root: str, disk: Disk) -> int:
    """Return the number of brokers that have a store below `root`: the highest number plus one.

    Stores of removed brokers do not count.
    """
    return max((i + 1 for i in _stores(root, disk) if not is_removed(_folder(root, i), disk)), default=0)


def is_removed(folder: str, disk: Disk) -> bool:
    """Return True if the folder is that of a removed broker."""
    return disk.exists(os.path.join(folder, REMOVED))


def mark_removed(folder: str, disk: Disk, now: int, left: int | None) -> None:
    """Mark the folder of a broker as removed at `now`, in ms since the epoch, with `left` messages.

    Their number may be unknown (None). Raises `OSError`.
    """
    text = f"{now}\n" if left is None else f"{now} {left}\n"
    write_table(disk, os.path.join(folder, REMOVED), text.encode())


def left_in(folder: str, disk: Disk) -> int | None:
    """Return the number of messages left in the folder of a removed broker, 0 if none was removed from it.

    None if the mark does not say so. Raises `OSError` if it cannot be read.
    """
    if not is_removed(folder, disk):
        return 0
    words = disk.read_bytes(os.path.join(folder, REMOVED)).split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


def serve_again(brokers: Sequence[NumberedBroker], disk: Disk) -> None:
    """Remove the marks of removed brokers that are to be served again. Raises `OSError`."""
    for one in brokers:
        if is_removed(one.folder, disk):
            disk.unlink(os.path.join(one.folder, REMOVED))
            log.warning(
                "%s was removed before; it is served again, with the messages in %s", one.name, one.folder
            )


def count_of(asked: int | str, root: str, disk: Disk) -> int:
    """Return the number of brokers to start; `root` is the folder of their stores.

    `auto` is the number of cores, or of stores if there are more, but none that was removed. A number that
    is the same as at the last start means the brokers that were left by additions and removals since. Raises
    `ConfigError` if a store would not be served.
    """
    stores = stores_in(root, disk)
    number = _cores() if asked == AUTO else int(asked)
    if asked == AUTO or str(asked) == _asked_before(root, disk):
        removed = [i for i in _stores(root, disk) if i >= stores]
        number = max(min([number, *removed]), stores)
    count = min(number, BROKERS_MAX)
    has_single = disk.exists(os.path.join(root, LOG_FOLDER))
    if has_single and stores:
        raise ConfigError(
            f"--brokers {count}: {root} has the store of a single broker and those of {stores} brokers with "
            f"numbers; move {LOG_FOLDER} or the folders {FOLDER}N to another place"
        )
    if has_single and count > 1:
        raise ConfigError(
            f"--brokers {count}: {root} is the store of a single broker, whose messages would not be served; "
            "start it with --brokers 1, or choose another folder with --data-dir"
        )
    if count < stores:
        raise ConfigError(
            f"--brokers {count}: {root} has the stores of {stores} brokers, and some would not be "
            f"served; start {stores} (or {AUTO}) and remove brokers from the last on with mqgateway broker "
            f"remove, or move the folders above broker-{count - 1} away"
        )
    return count


def remember(asked: int | str, root: str, disk: Disk) -> None:
    """Write down the value of `--brokers` of this start. Raises `OSError`."""
    text = f"{asked}\n".encode()
    path = os.path.join(root, ASKED)
    if not disk.exists(path) or disk.read_bytes(path) != text:
        write_table(disk, path, text)


def changed_since(asked: int | str, count: int) -> str:
    """Return why `count` brokers are started instead of the number of `--brokers`, "" if that is the same."""
    if asked in (AUTO, count):
        return ""
    verb, command = ("added", "remove") if count > int(asked) else ("removed", "add")
    return (
        f"--brokers {asked} is the number of the last start, and brokers were {verb} since: the number is "
        f"{count} now. Start with --brokers {count} from now on, or use mqgateway broker {command}"
    )


def _asked_before(root: str, disk: Disk) -> str:
    """Return the value of `--brokers` at the last start, "" if unknown. Raises `ConfigError`."""
    path = os.path.join(root, ASKED)
    try:
        return disk.read_bytes(path).decode(errors="replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}; correct or delete it") from None


def has_numbers(count: int, root: str, disk: Disk) -> bool:
    """Return True if brokers have numbers: for several, and for a single one of which others were removed."""
    return count > 1 or stores_in(root, disk) > 0


def _cores() -> int:
    from mqgateway.gateway.cli.limits import usable_cores  # with the transport, which `--help` does not need

    return usable_cores()


def numbered(settings: BrokerSettings, count: int) -> list[NumberedBroker]:
    """Return the brokers with these settings, which are complete.

    Raises `ConfigError` if the settings are not those of an ordinary master.
    """
    problems = list(_unsuitable(settings))
    if problems:
        raise ConfigError("\n".join(f"--brokers: {problem}" for problem in problems))
    brokers = [_numbered(settings, number) for number in range(count)]
    ports = ";".join(
        f"{one.name}:{one.settings['grpcServerPort']}"
        for one in brokers
        if one.settings["grpcServerPort"] != "0"
    )
    return [
        NumberedBroker(one.number, one.name, one.folder, {**one.settings, "grpcPortsOfBrokers": ports})
        for one in brokers
    ]


def read_numbered(
    given: Mapping[str, Any], overrides: Sequence[Setting]
) -> tuple[BrokerSettings, list[SettingProblem]]:
    """Return the complete settings of a broker, by the flags of the command and the settings in which it
    differs, and the problems found. Raises `ConfigError`."""
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    problems = apply_all(given, namesrv, broker)
    problems += broker.options.apply(overrides)
    find_out_all(given, namesrv, broker)
    return broker, problems


def read_all(given: Mapping[str, Any], brokers: Sequence[NumberedBroker]) -> list[BrokerSettings]:
    """Return the complete settings of all brokers. Raises `ConfigError` with the name of the broker."""
    found = []
    for one in brokers:
        try:
            settings, problems = read_numbered(given, one.overrides())
        except ConfigError as error:
            raise ConfigError(f"{one.name}: {error}") from None
        if errors := [str(problem) for problem in problems if problem.severity == "error"]:
            raise ConfigError("\n".join(f"{one.name}: {error}" for error in errors))
        found.append(settings)
    return found


def _numbered(settings: BrokerSettings, number: int) -> NumberedBroker:
    options = settings.options
    name = f"{settings.broker.broker_name}-{number}"
    folder = _folder(settings.store.store_path_root_dir, number)
    own = {"brokerName": name, "storePathRootDir": folder}
    own |= {port: str(_counted(int(options.get(port)), number)) for port in COUNTED}
    if number:
        own |= dict.fromkeys(OF_THE_FIRST, "0")
    own["healthPort"] = "0"
    if settings.broker.is_scraped:
        own |= {"metricsPromExporterHost": "127.0.0.1", "metricsPromExporterPort": "0"}
    return NumberedBroker(number, name, folder, own)


def _counted(port: int, number: int) -> int:
    return port + STEP * number if port else 0


def _unsuitable(settings: BrokerSettings) -> Iterator[str]:
    """Yield the reasons why several brokers cannot have these settings."""
    broker, store = settings.broker, settings.store
    if store.broker_role is BrokerRole.SLAVE:
        yield "brokerRole=SLAVE: all brokers of this command are masters; run slaves with mqgateway broker"
    if store.enable_d_leger_commit_log:
        yield "enableDLegerCommitLog=true: run members of a DLedger group with mqgateway broker"
    if broker.enable_controller_mode:
        yield "enableControllerMode=true: run brokers of a controller with mqgateway broker"
    for name in PRIVATE:
        if path := settings.options.get(name):
            yield f"{name}={path}: brokers cannot share it; set storePathRootDir only"
    if broker.authentication_enabled and not broker.inner_client_authentication_credentials:
        yield (
            "authenticationEnabled=true: set innerClientAuthenticationCredentials, with which the servers "
            "sign requests to one another, or use --secure"
        )


def _stores(root: str, disk: Disk) -> list[int]:
    """Return the numbers of the brokers that have a store below `root`, removed ones too."""
    try:
        names = disk.listdir(root)
    except OSError:
        return []
    numbers = [int(name.removeprefix(FOLDER)) for name in names if _FOLDERS.fullmatch(name)]
    return [i for i in numbers if disk.exists(os.path.join(_folder(root, i), LOG_FOLDER))]


def _folder(root: str, number: int) -> str:
    return os.path.join(root, f"{FOLDER}{number}")
