"""Collect the tests of the C extension only if it is built, as `tox -e compiled` does and checks."""

from __future__ import annotations

from mqgateway.engine.extension import native

collect_ignore = (
    []
    if native is not None
    else [
        "test_extension.py",
        "test_extension_batches.py",
        "test_extension_building.py",
        "test_extension_expansion.py",
        "test_extension_memory.py",
    ]
)
