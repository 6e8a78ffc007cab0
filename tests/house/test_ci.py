"""Skipped tests, which fail in continuous integration."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PASSES = "def test_another(): pass\n"
SKIPS = {
    "test_test": "import pytest\ndef test_it():\n    pytest.skip('no Docker here')\n",
    "test_mark": "import pytest\npytestmark = pytest.mark.skipif(True, reason='no Docker here')\n",
    "test_module": "import pytest\npytest.skip('no Docker here', allow_module_level=True)\n",
    "test_import": "import pytest\npytest.importorskip('no_such_module', reason='no Docker here')\n",
}
"""Files with each kind of skip: of a test, by a mark of the module, of the module, by an import."""
COMMAND = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-rA",
    "-p",
    "no:cacheprovider",
    "--continue-on-collection-errors",
]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("variable", ["true", ""])
def test_a_skip_fails_in_continuous_integration_only(tmp_path: Path, variable: str) -> None:
    (tmp_path / "test_passes.py").write_text(PASSES)
    for name, text in SKIPS.items():
        (tmp_path / f"{name}.py").write_text(text + PASSES)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    environment = {**os.environ, "CI": variable, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run([*COMMAND, str(tmp_path)], env=environment, cwd=tmp_path, capture_output=True)
    said = ended.stdout.decode()
    failed = set(re.findall(r"^(?:FAILED|ERROR) (\w+)\.py", said, re.MULTILINE))
    assert failed == (set(SKIPS) if variable else set()), said
    assert "PASSED test_passes.py::test_another" in said
    assert said.count("CI=true does not allow") >= (len(SKIPS) if variable else 0), said
    assert (ended.returncode != 0) == bool(variable) and "no Docker here" in said, said
