"""Which version of this project runs."""

from __future__ import annotations

from functools import cache


@cache
def installed_version() -> str:
    """Return the version of what is installed, looked up once; "" where it runs from its sources."""
    from importlib.metadata import PackageNotFoundError, version  # no start waits for it

    try:
        return version("mqgateway")
    except PackageNotFoundError:
        return ""
