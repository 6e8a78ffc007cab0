"""The base of all blocking APIs of the core: live in the client's thread, start, close, wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, Self, TypeVar

from twisted.internet.defer import Deferred, execute

from mqgateway.gateway.client.arguments import refuse
from mqgateway.gateway.client.errors import ClientError, trimmed
from mqgateway.gateway.client.loop import Loop

C = TypeVar("C", bound=Any)
P = ParamSpec("P")
T = TypeVar("T")


class Face(Generic[C]):
    """Base of the blocking APIs: lives in the loop, starts, closes."""

    def __init__(self, make: Callable[..., C], *, namesrv: str | None, settings: Mapping[str, Any]) -> None:
        if namesrv is not None:
            settings = {"namesrv_addr": namesrv, **settings}
        if namesrv is not None and not isinstance(namesrv, str):
            refuse("namesrv", namesrv, 'pass text, as "127.0.0.1:9876"; several joined by ";"')
        self._loop = Loop.shared()
        self._core: C = self._do(lambda: make(**settings))

    @property
    def client_id(self) -> str:
        """The client id that brokers see."""
        client_id: str = self._core.client.client_id
        return client_id

    def start(self) -> Self:
        """Begin; gives itself."""
        self._call(self._core.start)
        return self

    def close(self) -> None:
        """Close cleanly; repeated calls do nothing."""
        self._call(self._core.close)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()

    def _call(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the client's thread and wait. An error that the client raises on purpose has no
        frames below this one."""
        try:
            return self._loop.call(function, *args, **kwargs)
        except ClientError as error:
            raise trimmed(error)  # noqa: B904

    def _do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of the core that returns its result at once."""
        return self._call(lambda: execute(function, *args, **kwargs))
