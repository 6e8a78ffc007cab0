"""The tree that compiled modules are tested in; the wheel is built once for each state of the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.stages import compiled
from scripts.stages.compiled import BUILT_WITH, SOURCES, copy, digest, main


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of a module each folder."""
    root = tmp_path / "root"
    for name in (*SOURCES, "tests/mqgateway", ".git"):
        (root / name).mkdir(parents=True)
        (root / name / "module.py").write_text(name)
    for name in BUILT_WITH:
        (root / name).write_text(name)
    (root / "engine" / "native.so").touch()
    monkeypatch.setattr(compiled, "ROOT", root)
    return root


def test_tree_has_all_but_the_product_and_what_is_hidden(root: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    copy(root, tree, "mqgateway")
    assert (tree / "tests" / "mqgateway" / "module.py").is_file() and (
        tree / "engine" / "module.py"
    ).is_file()
    assert not (tree / "mqgateway").exists() and not (tree / ".git").exists()
    assert not (tree / "engine" / "native.so").exists()
    (root / "engine" / "module.py").unlink()
    copy(root, tree, "mqgateway")
    assert not (tree / "engine" / "module.py").exists(), "nothing of an earlier copy stays"


@pytest.mark.parametrize(
    "path", ["engine/native.c", "gateway/web/static/page.html", "setup.py", "engine/module.py"]
)
def test_digest_follows_what_the_wheel_is_built_from(root: Path, path: str) -> None:
    before = digest(root)
    (root / "tests" / "module.py").touch()
    (root / "engine" / "__pycache__").mkdir()
    (root / "engine" / "__pycache__" / "module.pyc").touch()
    assert digest(root) == before
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("changed")
    assert digest(root) != before


def test_wheel_is_built_once_for_each_state(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    installed = "protocol.so"
    monkeypatch.setattr(compiled, "build", lambda root, folder: built.append(folder))
    monkeypatch.setattr(compiled, "installed_file", lambda folder: installed)
    folder = tmp_path / "compiled"
    main(folder)
    main(folder)
    assert built == [folder] and (folder / "tree" / "tests").is_dir()
    (root / "engine" / "module.py").write_text("changed")
    main(folder)
    assert len(built) == 2
    installed = "protocol.py"
    with pytest.raises(SystemExit, match="not compiled"):
        main(folder)
    assert len(built) == 3, "an environment that was made again has no compiled modules"
