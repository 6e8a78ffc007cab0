"""Packages that export names of other modules and load these on first use: see `engine.lazy`."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.house.source import INSTALLED, module_name, nodes, source_files


@cache
def lazy_packages() -> list[Path]:
    """Return the packages that have a table of names."""
    return [
        path
        for path in source_files()
        if any(ast.unparse(call.func) == "lazy_names" for call in nodes(path, ast.Call))
    ]


def table_of(path: Path) -> dict[str, set[str]]:
    """Return the names that a package loads on first use, by module."""
    (call,) = (call for call in nodes(path, ast.Call) if ast.unparse(call.func) == "lazy_names")
    return {INSTALLED + module: set(names) for module, names in ast.literal_eval(call.args[1]).items()}


def imported_for_types(path: Path) -> dict[str, set[str]]:
    """Return the exported names that a package imports under `TYPE_CHECKING`, by module."""
    exported = set(import_module(INSTALLED + module_name(path)).__all__)
    (block,) = (one for one in nodes(path, ast.If) if ast.unparse(one.test) == "TYPE_CHECKING")
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom) and node.module]
    by_module = {str(node.module): {one.name for one in node.names} & exported for node in imports}
    return {module: names for module, names in by_module.items() if names}


def test_packages_with_lazy_names_are_found() -> None:
    assert len(lazy_packages()) == 4


def test_names_for_types_are_those_loaded_on_first_use() -> None:
    wrong = [module_name(path) for path in lazy_packages() if table_of(path) != imported_for_types(path)]
    assert wrong == []


def test_every_exported_name_is_found() -> None:
    packages = [import_module(INSTALLED + module_name(path)) for path in lazy_packages()]
    missing = [
        f"{package.__name__}.{name}"
        for package in packages
        for name in package.__all__
        if getattr(package, name, None) is None
    ]
    assert missing == []


def test_operations_export_what_other_modules_import() -> None:
    package = f"{INSTALLED}gateway.broker.operations"
    imported = {
        name.name
        for file in source_files()
        for node in nodes(file, ast.ImportFrom)
        if node.module == package
        for name in node.names
    }
    assert set(import_module(package).__all__) - imported == set()
