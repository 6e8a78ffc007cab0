"""Twisted's transports, loaded without modules that servers do not need.

Twisted loads OpenSSL with its transports if it is installed, for TLS that starts on a connection
(`ITLSTransport`) or that the reactor makes (`IReactorSSL`). Neither is used here: TLS is a protocol above a
plain connection (`remoting.tls`). Loading it takes a quarter of a start, and memory, which most servers do
not need.

Twisted also imports modules for parts of its API that most servers, or all, leave alone: cookies of HTTP
clients, which bring the clients and e-mail with them, UDP, UNIX sockets and child processes. These are loaded
when an attribute of theirs is first used. Of asyncio, which brings OpenSSL again, Twisted's Deferreds use one
function; a stand-in has it while they are loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import Any

ON_FIRST_USE = (
    "http.cookiejar",
    "twisted.internet.process",
    "twisted.internet.udp",
    "twisted.internet.unix",
)
"""Modules that are loaded when one of their attributes is first used."""


class _Asyncio(ModuleType):
    """Stand-in for asyncio with the names that Twisted's Deferreds import; any other name loads asyncio."""

    AbstractEventLoop = Future = object

    @staticmethod
    def iscoroutine(value: object) -> bool:
        """See `asyncio.iscoroutine`."""
        return isinstance(value, Coroutine)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by imports
            raise AttributeError(name)
        sys.modules.pop(self.__name__, None)
        return getattr(import_module(self.__name__), name)


def load_transports() -> None:
    """Load the transports of this process, which must be one of this project's commands.

    Other programs may need the part that is left out. OpenSSL can be imported afterwards.
    """
    modules: dict[str, Any] = sys.modules
    if "OpenSSL" in modules or "twisted.internet.tcp" in modules:
        return
    for name in ON_FIRST_USE:
        _put_off(name)
    _load_deferreds()
    modules["OpenSSL"] = None  # an import of it fails, as if it were not installed
    try:
        import twisted.internet.posixbase  # noqa: F401
    finally:
        del modules["OpenSSL"]


def _load_deferreds() -> None:
    """Load Twisted's Deferreds without asyncio, if both are not loaded yet."""
    if "asyncio" in sys.modules or "twisted.internet.defer" in sys.modules:
        return
    sys.modules["asyncio"] = stand_in = _Asyncio("asyncio")
    try:
        import twisted.internet.defer  # noqa: F401
    finally:
        if sys.modules.get("asyncio") is stand_in:
            del sys.modules["asyncio"]


def _put_off(name: str) -> None:
    """Import a module so that its code runs when an attribute is first used; one that is loaded stays."""
    if name in sys.modules:
        return
    package, _, last = name.rpartition(".")
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    spec.loader = LazyLoader(spec.loader)
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    setattr(import_module(package), last, module)


def main() -> None:
    """Run `main` of the module of this package that the first argument names: a broker's process."""
    load_transports()
    import_module(f"mqgateway.gateway.cli.{sys.argv[1]}").main()


if __name__ == "__main__":
    main()
