"""Twisted's transports, loaded without OpenSSL.

Twisted loads OpenSSL with its transports if it is installed, for TLS that starts on a connection
(`ITLSTransport`) or that the reactor makes (`IReactorSSL`). Neither is used here: TLS is a protocol above a
plain connection (`remoting.tls`). Loading it takes a quarter of a start, and memory, which most servers do
not need.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def load_transports() -> None:
    """Load the transports of this process, which must be one of this project's commands.

    Other programs may need the part that is left out. OpenSSL can be imported afterwards.
    """
    modules: dict[str, Any] = sys.modules
    if "OpenSSL" in modules or "twisted.internet.tcp" in modules:
        return
    modules["OpenSSL"] = None  # an import of it fails, as if it were not installed
    try:
        import twisted.internet.posixbase  # noqa: F401
    finally:
        del modules["OpenSSL"]


def main() -> None:
    """Run `main` of the module of this package that the first argument names: a broker's process."""
    load_transports()
    import_module(f"mqgateway.gateway.cli.{sys.argv[1]}").main()


if __name__ == "__main__":
    main()
