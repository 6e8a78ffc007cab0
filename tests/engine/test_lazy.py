from typing import Any

import pytest

from mqgateway.engine.delay_levels import DelayLevels
from mqgateway.engine.lazy import lazy_names

MODULES = {"engine.delay_levels": ("DelayLevels",), "engine.no_module": ("Missing",)}


def test_name_is_loaded_on_first_use_and_kept() -> None:
    package: dict[str, Any] = {"__name__": "some.package"}
    load = lazy_names(package, MODULES)
    assert "DelayLevels" not in package
    assert load("DelayLevels") is DelayLevels
    assert package["DelayLevels"] is DelayLevels


def test_module_that_is_not_found_is_an_error() -> None:
    package: dict[str, Any] = {"__name__": "some.package"}
    load = lazy_names(package, MODULES)
    with pytest.raises(ModuleNotFoundError, match="no_module"):
        load("Missing")
    assert "Missing" not in package


def test_other_name_is_an_attribute_error() -> None:
    load = lazy_names({"__name__": "some.package"}, MODULES)
    with pytest.raises(AttributeError, match=r"module 'some\.package' has no attribute 'Other'"):
        load("Other")
