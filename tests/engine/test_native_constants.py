"""What stands twice, in Python and in C, is the same."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from tests.house.source import ROOT

SCRIPT = ROOT / "scripts" / "native_constants.py"


def test_header_is_what_the_script_makes_of_the_modules() -> None:
    loader = SourceFileLoader("native_constants", str(SCRIPT))
    module = module_from_spec(spec_from_loader("native_constants", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    assert module.HEADER.read_text() == module.text(), "run scripts/native_constants.py"
