"""The settings of a running server: display, change by request, and their file.

A change is checked as a whole before anything is set. Each option declares when it takes effect
(`options.option.Effect`), and the response reports which settings are only kept for the next start, could not
be kept, or have no effect. A setting that takes effect after a restart does not change in the running server,
and is refused if it cannot be kept. Settings for data directories and access rights are never changed by
request.

A broker's change is written to the lines with the properties, or below them, so that comments and order are
kept (RocketMQ rewrites the file with all its properties). A name server without a file gets one with all
properties. RocketMQ: `Configuration`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import (
    Effect,
    Effective,
    Option,
    OptionSet,
    Setting,
    Value,
    change_properties,
    format_value,
)
from mqgateway.engine.options.relations import RELATIONS, broken_relations
from mqgateway.engine.settings_file import write_settings
from mqgateway.engine.tables.data_version import DataVersion

log = logging.getLogger(__name__)

NOT_READ = "data folder"
"""Origin of a settings file's path that a start does not read by itself."""


def is_above_files(origin: str) -> bool:
    """Return True if settings of this origin override a file: a flag, or a variable (`JAVA_OPT`)."""
    return origin in ("--set", "flag") or (origin.isupper() and origin.replace("_", "").isalnum())


class ConfigurationRules(NamedTuple):
    """Rules for changes by request, and for keeping them.

    Properties in `never_changed` and in `configBlackList` are refused. Unknown names are skipped with
    `skips_unknown`, else refused. An existing file gets the changed properties; with `writes_all` a missing
    one is created with all properties. `path` is the setting that names the file. RocketMQ:
    `initConfigBlackList`.
    """

    never_changed: frozenset[str]
    path: str
    skips_unknown: bool = False
    writes_all: bool = False


BROKER_RULES = ConfigurationRules(
    frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"}), "brokerConfigPath"
)
CONTAINER_RULES = BROKER_RULES._replace(
    never_changed=BROKER_RULES.never_changed | {"brokerConfigPaths", "maxBrokers"}
)
NAMESRV_RULES = ConfigurationRules(
    frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}),
    "configStorePath",
    skips_unknown=True,
    writes_all=True,
)
CONTROLLER_RULES = NAMESRV_RULES._replace(
    never_changed=frozenset({"configBlackList", "configStorePath", "rocketmqHome"})
)


class ChangeForbidden(Exception):
    """A property that may not be changed by request."""


class Configuration:
    """All settings of the process as properties. `path` is their file; without one changes are not kept."""

    def __init__(
        self,
        settings: OptionSet,
        disk: Disk,
        clock: Clock,
        path: str,
        rules: ConfigurationRules = BROKER_RULES,
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._disk = disk
        self._clock = clock
        self._path = path
        origins = {name: settings.origin(name) for name in settings.names()}
        self._given = {name: origin for name, origin in origins.items() if is_above_files(origin)}
        self.version = DataVersion(timestamp=clock.millis())

    def get(self, name: str) -> str:
        """Return a property's value as text. Raises `KeyError`."""
        return format_value(self._settings.get(name))

    def effective(self) -> list[Effective]:
        """Return every property with its current value; secrets are hidden."""
        return self._settings.effective()

    def option(self, name: str) -> Option:
        """Return the declaration of a property. Raises `KeyError`."""
        return self._settings.option(name)

    def effect(self, name: str) -> Effect:
        """Return when a change of a property takes effect. Raises `KeyError`."""
        return self._settings.option(name).effect

    def why_fixed(self, name: str) -> str:
        """Return why requests may not change a property; empty when they may."""
        if name in self.black_list:
            return "on the black list"
        if self.effect(name) is Effect.FIXED:
            return "read at start only"
        if self.effect(name) is Effect.RESTART and not self._is_kept:
            return "takes effect after a restart, and no settings file keeps it until then"
        return ""

    def as_properties(self, now: Mapping[str, Value] | None = None) -> str:
        """Return all properties as text; `now` overrides values that differ. Secrets are hidden."""
        return self._settings.as_properties(now)

    @property
    def black_list(self) -> frozenset[str]:
        """Names of the properties that requests may never change."""
        return self._rules.never_changed.union(str(self._settings.get("configBlackList")).split(";"))

    def update(self, changes: Sequence[Setting]) -> str:
        """Set properties, all or none; return notes for the caller, or "".

        Raises `ChangeForbidden` or `ConfigError`.
        """
        if not self.black_list.isdisjoint(setting.key for setting in changes):
            raise ChangeForbidden("Can not update config in black list.")
        if self._rules.skips_unknown:
            changes = [setting for setting in changes if setting.key in self._settings]
        if problems := self._settings.check(changes):
            raise ConfigError("; ".join(map(str, problems)))
        self._check_relations(changes)
        by_name = {(name := self._settings.name_of(one.key)): one._replace(key=name) for one in changes}
        changes = list(by_name.values())
        if fixed := self._named(changes, Effect.FIXED):
            raise ConfigError(f"read at start only, change it in the file and restart: {', '.join(fixed)}")
        for one in changes:
            if self.effect(one.key) is Effect.ANNOUNCED and not one.value.strip():
                raise ConfigError(f"{one.key}: an announced value cannot be empty while the server runs")
        waiting = self._named(changes, Effect.RESTART)
        if overruled := self._overruled(waiting):
            raise ConfigError(f"takes effect after a restart only, and is {overruled}")
        why_not = self._keep(changes)
        if waiting and why_not:
            names = ", ".join(waiting)
            raise ConfigError(
                f"{names}: takes effect after a restart only, and is not kept until then: {why_not}"
            )
        not_kept = f"not kept beyond a restart: {why_not}" if why_not else self._overruled(by_name)
        self._set([setting for setting in changes if setting.key not in waiting])
        log.info("Settings changed by request: %s", ", ".join(sorted({one.key for one in changes})))
        notes = [f"{', '.join(waiting)}: takes effect after a restart" if waiting else "", not_kept]
        notes += sorted({self._without_effect(setting) for setting in changes})
        return "; ".join(filter(None, notes))

    def reread(self, found: Sequence[Setting]) -> list[str]:
        """Set the values that changed in a file, all or none; return the names that need a restart.

        As at the start, the environment and flags override the file. Raises `ConfigError`.
        """
        settings = self._settings
        found = [one for one in found if one.key in settings and not is_above_files(settings.origin(one.key))]
        if problems := settings.check(found):
            raise ConfigError("; ".join(map(str, problems)))
        self._check_relations(found)
        last = {one.key: one for one in found}
        changed = [
            one for one in last.values() if settings.option(one.key).parse(one.value) != settings.get(one.key)
        ]
        taken = [one for one in changed if self._is_live(one.key)]
        if taken:
            self._set(taken)
            log.info("Settings changed in the file: %s", ", ".join(one.key for one in taken))
        return [one.key for one in changed if one not in taken]

    def _check_relations(self, changes: Iterable[Setting]) -> None:
        """Check the settings as they will be: the next start would refuse them. Raises `ConfigError`."""
        settings = self._settings
        values = {
            name: settings.option(name).parse(one.value)
            for one in changes
            if (name := settings.name_of(one.key)) in settings
        }
        if any({lower, upper} & values.keys() for lower, upper, _ in RELATIONS):
            problems = broken_relations(lambda name: values.get(name, settings.get(name)))
            if problems:
                raise ConfigError("; ".join(problems))

    @property
    def _is_kept(self) -> bool:
        """Return True if there is a settings file that the next start reads."""
        if not self._path or self._settings.origin(self._rules.path) == NOT_READ:
            return False
        return self._rules.writes_all or self._disk.exists(self._path)

    def _is_live(self, name: str) -> bool:
        return name not in self.black_list and self.effect(name) in (Effect.LIVE, Effect.ANNOUNCED)

    def _named(self, changes: Iterable[Setting], effect: Effect) -> list[str]:
        """Return the names of the properties with this effect whose value would change."""
        settings = self._settings
        return sorted(
            {
                one.key
                for one in changes
                if self.effect(one.key) is effect
                and not settings.option(one.key).no_effect
                and settings.option(one.key).parse(one.value) != settings.get(one.key)
            }
        )

    def _overruled(self, names: Iterable[str]) -> str:
        """Return the properties that a flag or variable sets at each start, whatever the file has."""
        given = [f"{name} by {self._given[name]}" for name in sorted(names) if name in self._given]
        return f"set again at the next start: {', '.join(given)}" if given else ""

    def _without_effect(self, setting: Setting) -> str:
        reason = self._settings.option(setting.key).no_effect
        return f"{setting.key} has no effect: {reason}" if reason else ""

    def _set(self, changes: Sequence[Setting]) -> None:
        for problem in self._settings.apply(changes):
            log.warning("%s", problem)
        self.version.next(self._clock.millis())

    def _keep(self, changes: Sequence[Setting]) -> str:
        """Write changes to the settings file; return the reason if they are not kept, else ""."""
        if not self._rules.writes_all and not (self._path and self._disk.exists(self._path)):
            return self._not_kept("there is no settings file; name one with -c")
        values = {setting.key: setting.value for setting in changes}
        try:
            write_settings(self._disk, self._path, self._text_with(values))
        except (OSError, ConfigError) as error:
            return self._not_kept(f"{self._path} cannot be written: {error}")
        if not self._is_kept:
            return self._not_kept(f"a start does not read {self._path} unless -c names it")
        return ""

    def _not_kept(self, why: str) -> str:
        log.warning("A change of settings is not kept: %s", why)
        return why

    def _text_with(self, values: Mapping[str, str]) -> bytes:
        if self._disk.exists(self._path):
            return change_properties(self._disk.read_bytes(self._path), values)
        return change_properties(self._settings.as_properties(hide_secrets=False).encode(), values)
