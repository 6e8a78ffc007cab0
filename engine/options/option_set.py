"""Options of one server: several option objects filled from a file, the environment and flags.

A property that several objects declare (`listenPort`, `writeBufferHighWaterMark`) is set in all of
them, as in RocketMQ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.option import BadValue, Option, Value, closest, format_value, options_of
from mqgateway.engine.options.properties import Setting, format_properties_text

HIDDEN = "******"


@dataclass(frozen=True)
class SettingProblem:
    """A problem with one setting, its position, and a suggestion.

    An error means that the setting cannot be used, a warning that it has no effect or is outdated.
    """

    key: str
    value: str
    what: str
    suggestion: str = ""
    file: str = ""
    line: int = 0
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        remedy = f"; {self.suggestion}" if self.suggestion else ""
        return f"{place}{self.key}={self.value}: {self.what}{remedy}"


class Effective(NamedTuple):
    """An effective property: its text, its origin and a note."""

    name: str
    value: str
    origin: str
    note: str


class Options:
    """Base of the option classes, which are dataclasses whose fields are made by `option`.

    `also_accepted` are properties that are only accepted and shown.
    """

    also_accepted: ClassVar[tuple[Option, ...]] = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        # Methods generated for a dataclass are compiled at every start: 30 ms for all settings.
        dataclass(cls, init=False, repr=False, eq=False)

    def __init__(self, **values: Any) -> None:
        vars(self).update((field.name, field.default) for field in fields(self))
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse undeclared attributes: a misspelt one would have no effect."""
        if name not in type(self).__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no option {name}")
        super().__setattr__(name, value)


class _Place(NamedTuple):
    """Storage of a property's value: attributes of objects, or the set itself."""

    option: Option
    targets: list[Options]


T = TypeVar("T", bound=Options)


class OptionSet:
    """Options objects as one table of properties; see `apply`, `get`, `set` and `effective`.

    The initial values of the objects are the defaults of their properties.
    """

    def __init__(self, *objects: Options) -> None:
        self._objects = objects
        self._places: dict[str, _Place] = {}
        self._old_names: dict[str, str] = {}
        self._loose: dict[str, Value] = {}
        self._origins: dict[str, str] = {}
        for target in objects:
            for option in options_of(type(target)):
                self._places.setdefault(option.name, _Place(option, [])).targets.append(target)
                self._old_names.update(dict.fromkeys(option.old_names, option.name))
        # After all declared ones: a declared property must not be shadowed by an accepted name.
        for target in objects:
            for option in target.also_accepted:
                if option.name not in self._places:
                    self._places[option.name] = _Place(option, [])
                    self._loose[option.name] = option.default

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def part(self, kind: type[T]) -> T:
        """Return the options object of a class. Raises `LookupError` if there is none."""
        for one in self._objects:
            if isinstance(one, kind):
                return one
        raise LookupError(f"the settings have no {kind.__name__}")

    def names(self) -> list[str]:
        """Return the names of all properties."""
        return list(self._places)

    def option(self, name: str) -> Option:
        """Return the declaration of a property. Raises `KeyError`."""
        return self._places[name].option

    def name_of(self, name: str) -> str:
        """Return the current name of a property, which may be given by an old name."""
        return self._old_names.get(name, name)

    def get(self, name: str) -> Value:
        """Return the value of a property. Raises `KeyError` for an unknown name."""
        place = self._places[name]
        if not place.targets:
            return self._loose[name]
        value: Value = getattr(place.targets[0], place.option.attribute)
        return value

    def origin(self, name: str) -> str:
        """Return the origin of a value: `default`, a file and line, a variable, a flag."""
        return self._origins.get(name, "default")

    def set(self, name: str, text: str, origin: str = "update") -> Value:
        """Check and set one property from its text; return the new value. Raises `ConfigError`."""
        problems = self.apply([Setting(name, text, 0, origin)], unknown="error")
        errors = [problem for problem in problems if problem.severity == "error"]
        if errors:
            raise ConfigError(str(errors[0]))
        return self.get(self.name_of(name))

    def assume(self, name: str, value: Value, origin: str) -> None:
        """Set a property that is unset or empty to a value determined at start."""
        if name not in self._origins or self.get(name) == "":
            self._store(name, value, origin)

    def apply(
        self, settings: Iterable[Setting], *, unknown: Literal["error", "warning"] = "warning"
    ) -> list[SettingProblem]:
        """Check and set properties, later ones over earlier ones; return all problems.

        An invalid setting leaves its property unchanged. `unknown` is the severity of an unknown key.
        """
        problems = []
        for setting in settings:
            problem = self._apply_one(setting, unknown)
            if problem is not None:
                problems.append(problem)
        return problems

    def check(self, settings: Sequence[Setting]) -> list[SettingProblem]:
        """Return the errors that `apply` would find, without setting anything."""
        problems = []
        for setting in settings:
            name = self.name_of(setting.key)
            if name not in self._places:
                problems.append(self._unknown(setting, "error"))
                continue
            try:
                self._places[name].option.parse(setting.value)
            except BadValue as bad:
                problems.append(_bad_value(setting, bad))
        return problems

    def effective(self) -> list[Effective]:
        """Return every property with value and origin, in the order of declaration; secrets are hidden."""
        return [
            Effective(name, self._shown(place.option, hide=True), self.origin(name), _note(place.option))
            for name, place in self._places.items()
        ]

    def as_properties(
        self, now: Mapping[str, Value] | None = None, *, hide_secrets: bool = True, ours: bool = True
    ) -> str:
        """Return all values as properties text, sorted by name; without `ours` only RocketMQ's properties.

        Values in `now` replace the values that were set.
        """
        return format_properties_text(
            {
                name: self._shown(place.option, hide=hide_secrets)
                for name, place in sorted(self._places.items())
                if ours or not place.option.ours
            }
            | {name: format_value(value) for name, value in (now or {}).items()}
        )

    def _shown(self, option: Option, hide: bool) -> str:
        text = format_value(self.get(option.name))
        return HIDDEN if hide and option.secret and text else text

    def _apply_one(self, setting: Setting, unknown: Literal["error", "warning"]) -> SettingProblem | None:
        name = self.name_of(setting.key)
        place = self._places.get(name)
        if place is None:
            return self._unknown(setting, unknown)
        try:
            value = place.option.parse(setting.value)
        except BadValue as bad:
            return _bad_value(setting, bad)
        self._store(name, value, f"{setting.source}:{setting.line}" if setting.line else setting.source)
        if name != setting.key:
            return _warning(setting, "deprecated name", f"use {name}={setting.value.strip()}")
        if place.option.no_effect and value != place.option.default:
            return _warning(setting, f"has no effect: {place.option.no_effect}")
        return None

    def _store(self, name: str, value: Value, origin: str) -> None:
        place = self._places[name]
        for target in place.targets:
            setattr(target, place.option.attribute, value)
        if not place.targets:
            self._loose[name] = value
        self._origins[name] = origin

    def _unknown(self, setting: Setting, severity: Literal["error", "warning"]) -> SettingProblem:
        near = closest(setting.key, [*self._places, *self._old_names])
        return SettingProblem(
            setting.key,
            setting.value,
            "no such property",
            f"did you mean {near}?" if near else "",
            setting.source,
            setting.line,
            severity,
        )


def _bad_value(setting: Setting, bad: BadValue) -> SettingProblem:
    suggestion = f"use {setting.key}={bad.suggestion}" if bad.suggestion else ""
    return SettingProblem(setting.key, setting.value, bad.what, suggestion, setting.source, setting.line)


def _warning(setting: Setting, what: str, suggestion: str = "") -> SettingProblem:
    return SettingProblem(
        setting.key, setting.value, what, suggestion, setting.source, setting.line, "warning"
    )


def _note(option: Option) -> str:
    if option.no_effect:
        return f"no effect: {option.no_effect}"
    return "ours" if option.ours else ""
