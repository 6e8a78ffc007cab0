"""Which version of this project runs."""

from __future__ import annotations

from importlib import metadata

import pytest

from mqgateway.gateway.runtime.version import installed_version


def test_it_is_that_of_what_is_installed() -> None:
    installed_version.cache_clear()
    assert installed_version() == metadata.version("mqgateway")


def test_sources_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    installed_version.cache_clear()
    try:
        assert installed_version() == ""
    finally:
        installed_version.cache_clear()
