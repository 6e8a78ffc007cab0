"""Names that a package exports and whose modules are loaded on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: dict[str, Any], modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which loads the module of a name and keeps the name (PEP 562).

    `package` is the package's `globals()`. `modules` are modules below `mqgateway`, and the names that the
    package exports of each. The package imports the same names under `TYPE_CHECKING`: type checkers do not
    see the table, so that they report other names. `__getattr__` raises AttributeError for these.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        value = package[name] = getattr(import_module(f"mqgateway.{module_of[name]}"), name)
        return value

    return load
