"""The blocking and the asyncio API for one test of both: the methods of either are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any

import pytest

from mqgateway.gateway.client import aio, blocking


class Awaited:
    """A blocking client whose methods are awaited."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        if not callable(value):
            return value

        async def call(*args: Any, **given: Any) -> Any:
            return value(*args, **given)

        return call

    async def __aenter__(self) -> Awaited:
        self._client.__enter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._client.__exit__(*error)

    async def messages(self) -> AsyncIterator[Any]:
        """Yield what the blocking iterator does."""
        for message in self._client.messages():
            yield message

    async def __aiter__(self) -> AsyncIterator[Any]:
        for message in self._client:
            yield message


class Api:
    """The classes of a module, and listeners as that module takes them."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._is_async = module is aio

    def __getattr__(self, name: str) -> Callable[..., Any]:
        made = getattr(self._module, name)
        return made if self._is_async else lambda *args, **given: Awaited(made(*args, **given))

    def listener(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function as a listener."""

        async def listen(*args: Any) -> Any:
            return function(*args)

        return listen if self._is_async else function


each_api = pytest.mark.parametrize("api", [Api(blocking), Api(aio)], ids=["blocking", "aio"])
