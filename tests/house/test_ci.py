"""What continuous integration may not do: pass by skipping."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PASSES = "def test_another(): pass\n"
SKIPS = {
    "a test": "import pytest\ndef test_it():\n    pytest.skip('no Docker here')\n",
    "a mark of the module": "import pytest\npytestmark = pytest.mark.skipif(True, reason='no Docker here')\n",
    "a module": "import pytest\npytest.skip('no Docker here', allow_module_level=True)\n",
    "a module's import": "import pytest\npytest.importorskip('no_such_module', reason='no Docker here')\n",
}


@pytest.mark.parametrize("skips", SKIPS.values(), ids=SKIPS)
@pytest.mark.parametrize("variable", ["true", ""])
def test_a_skip_fails_in_continuous_integration_only(tmp_path: Path, variable: str, skips: str) -> None:
    (tmp_path / "test_passes.py").write_text(PASSES)
    (tmp_path / "test_skips.py").write_text(skips + PASSES)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(command, env={**os.environ, "CI": variable}, cwd=tmp_path, capture_output=True)
    said = ended.stdout.decode()
    assert (ended.returncode != 0) == (variable == "true"), said
    assert ("no Docker here" in said and "CI=true does not allow" in said) == (variable == "true"), said
