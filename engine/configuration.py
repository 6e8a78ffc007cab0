"""The settings of a running server: shown, changed by request, and written to their file.

A change is checked as a whole before anything is set, and only then written. A broker's goes into the lines
that hold the properties now, or below them, so that comments and order stay (the standard rewrites the file
with all its properties); a name server's file is its own, and has all of them. What is read at start only
cannot be changed by request: it would be shown as set and be without effect, or take away what a running
store relies on. Standard: `Configuration`.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import (
    Effective,
    Option,
    OptionSet,
    Setting,
    Value,
    format_properties_text,
    format_value,
    load_properties,
)
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import write_table

log = logging.getLogger(__name__)

_OF_ACCESS = frozenset(OptionSet(AccessOptions()).names()) - {"maxPolicyEntriesPerUser", "maxUsers"}
"""Who is asked who they are does not change while a server runs."""

_READ_AT_START = _OF_ACCESS | frozenset(
    {
        "bindAddress",
        "brokerClusterName",
        "brokerIP1",
        "brokerIP2",
        "brokerId",
        "brokerName",
        "brokerRole",
        "consoleHost",
        "consoleHosts",
        "consolePort",
        "consoleReadOnly",
        "consoleRoles",
        "haListenPort",
        "listenPort",
        "mappedFileSizeCommitLog",
        "mappedFileSizeConsumeQueue",
        "mappedFileSizeTimerLog",
        "maxHashSlotNum",
        "maxIndexNum",
        "messageDelayLevel",
        "storePathCommitLog",
        "storePathRootDir",
        "storeType",
        "timerPrecisionMs",
        "timerRollWindowSlot",
        "timerWheelEnable",
    }
)


def is_above_files(origin: str) -> bool:
    """Whether a setting from there is not replaced by that of a file: a flag, or a variable (`JAVA_OPT`)."""
    return origin in ("--set", "flag") or (origin.isupper() and origin.replace("_", "").isalnum())


class Rules(NamedTuple):
    """What requests may change, and how a change is kept.

    `never_changed` are not, beside what `configBlackList` names, nor `read_at_start`; names that are no
    setting are passed over if `skips_unknown`, else refused. With `writes_all` the file gets all properties,
    whether it is there or not; else a file that is there gets those that are changed. Standard:
    `initConfigBlackList`.
    """

    never_changed: frozenset[str]
    read_at_start: frozenset[str] = frozenset()
    skips_unknown: bool = False
    writes_all: bool = False


BROKER_RULES = Rules(frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"}), _READ_AT_START)
CONTAINER_RULES = BROKER_RULES._replace(
    never_changed=BROKER_RULES.never_changed | {"brokerConfigPaths", "maxBrokers"}
)
NAMESRV_RULES = Rules(
    frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}),
    _OF_ACCESS,
    skips_unknown=True,
    writes_all=True,
)

CONTROLLER_RULES = Rules(
    frozenset({"configBlackList", "configStorePath", "rocketmqHome"}),
    _OF_ACCESS
    | frozenset(
        {
            "bindAddress",
            "controllerDLegerGroup",
            "controllerDLegerPeers",
            "controllerDLegerSelfId",
            "controllerEtcdCaFile",
            "controllerEtcdCertFile",
            "controllerEtcdEndpoints",
            "controllerEtcdKeyFile",
            "controllerEtcdLeaseSeconds",
            "controllerEtcdPassword",
            "controllerEtcdUser",
            "controllerStorePath",
            "listenPort",
            "scanInactiveMasterInterval",
        }
    ),
    skips_unknown=True,
    writes_all=True,
)


class ChangeForbidden(Exception):
    """A property that requests may not change."""


class Configuration:
    """All settings of the process as properties. `path` is their file; without one changes are not kept."""

    def __init__(
        self, settings: OptionSet, disk: Disk, clock: Clock, path: str, rules: Rules = BROKER_RULES
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._disk = disk
        self._clock = clock
        self._path = path
        self.version = DataVersion(timestamp=clock.millis())

    def get(self, name: str) -> str:
        """The text of a property's value. Raises `KeyError`."""
        return format_value(self._settings.get(name))

    def effective(self) -> list[Effective]:
        """Every property as it stands; secrets are hidden."""
        return self._settings.effective()

    def option(self, name: str) -> Option:
        """The declaration of a property. Raises `KeyError`."""
        return self._settings.option(name)

    def why_fixed(self, name: str) -> str:
        """Why requests may not change a property; empty when they may."""
        if name in self.black_list:
            return "on the black list"
        return "read at start only" if name in self._rules.read_at_start else ""

    def as_properties(self, now: Mapping[str, Value] | None = None) -> str:
        """All properties as text, what is `now` something else than was set so; secrets are hidden."""
        return self._settings.as_properties(now)

    @property
    def black_list(self) -> frozenset[str]:
        """Names of the properties that requests may never change."""
        return self._rules.never_changed.union(str(self._settings.get("configBlackList")).split(";"))

    def update(self, found: Sequence[Setting]) -> None:
        """Set these properties, all or none. Raises `ChangeForbidden` or `ConfigError`."""
        names = {setting.key for setting in found}
        if not names.isdisjoint(self.black_list):
            raise ChangeForbidden("Can not update config in black list.")
        if fixed := sorted(names & self._rules.read_at_start):
            raise ConfigError(f"read at start only, change it in the file and restart: {', '.join(fixed)}")
        if self._rules.skips_unknown:
            found = [setting for setting in found if setting.key in self._settings]
        if problems := self._settings.check(found):
            raise ConfigError("; ".join(map(str, problems)))
        for problem in self._settings.apply(found):
            log.warning("%s", problem)
        changes = {setting.key: setting.value for setting in found}
        log.info("Settings changed by request: %s", ", ".join(sorted(changes)))
        self.version.next(self._clock.millis())
        if self._rules.writes_all:
            text = self._settings.as_properties(hide_secrets=False)
            write_table(self._disk, self._path, text.encode())
        else:
            self._keep(changes)

    def reread(self, found: Sequence[Setting]) -> list[str]:
        """Set what a file says otherwise by now, all or none; as at the start it counts below the environment
        and flags. Gives the names of those that differ and are read at start only. Raises `ConfigError`."""
        settings = self._settings
        found = [one for one in found if one.key in settings and not is_above_files(settings.origin(one.key))]
        if problems := settings.check(found):
            raise ConfigError("; ".join(map(str, problems)))
        last = {one.key: one for one in found}
        changed = [
            one for one in last.values() if settings.option(one.key).parse(one.value) != settings.get(one.key)
        ]
        taken = [one for one in changed if not self.why_fixed(one.key)]
        if taken:
            for problem in settings.apply(taken):
                log.warning("%s", problem)
            log.info("Settings changed in the file: %s", ", ".join(one.key for one in taken))
            self.version.next(self._clock.millis())
        return [one.key for one in changed if one not in taken]

    def _keep(self, changes: Mapping[str, str]) -> None:
        if not self._path or not self._disk.exists(self._path):
            log.warning("There is no settings file to keep the change in: it lasts until the broker stops")
            return
        text = self._disk.read_bytes(self._path).decode()
        write_table(self._disk, self._path, changed_text(text, changes).encode())


def changed_text(text: str, changes: Mapping[str, str]) -> str:
    """Properties text in which these properties have these values; all else is as it was."""
    lines = text.splitlines()
    missing = dict(changes)
    for setting in load_properties(text, ""):
        if setting.key not in changes:
            continue
        first = last = setting.line - 1
        while _goes_on(lines[last]) and last + 1 < len(lines):
            last += 1
        # Lines keep their numbers until all are found: what a value went on in becomes empty.
        lines[first : last + 1] = [_line(setting.key, changes[setting.key]), *[""] * (last - first)]
        missing.pop(setting.key, None)
    lines += [_line(key, value) for key, value in missing.items()]
    return "\n".join(lines) + "\n"


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _line(key: str, value: str) -> str:
    return format_properties_text({key: value}).rstrip("\n")
