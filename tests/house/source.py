"""The source tree as the house tests see it: files, their parsed form and their imports."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "gateway", "pipeline")
INSTALLED = "mqgateway."
"""What comes before the names of our packages where they are imported; the house's rules leave it out."""


def source_files() -> list[Path]:
    """Every Python file of the product, relative to the root."""
    return [path for package in (*PACKAGES, "mqgateway") for path in python_files(package)]


def python_files(folder: str) -> list[Path]:
    """Every Python file below a folder, relative to the root."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse((ROOT / path).read_text(), str(path))


def module_name(path: Path) -> str:
    """`engine/store/record.py` as `engine.store.record`; a package's `__init__` as the package."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> Iterator[str]:
    """The modules a file imports, anywhere in it, ours without `mqgateway.` in front.

    `from package import name` gives both readings.
    """
    for name in imports_as_written(path):
        ours = name.removeprefix(INSTALLED)
        yield ours if ours.partition(".")[0] in PACKAGES else name


def imports_as_written(path: Path) -> Iterator[str]:
    """The same with the names as they stand there."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            assert node.module is not None
            yield node.module
            for name in node.names:
                if (ROOT / node.module.replace(".", "/") / f"{name.name}.py").exists():
                    yield f"{node.module}.{name.name}"
