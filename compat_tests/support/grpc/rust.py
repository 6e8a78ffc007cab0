"""The official client in Rust, driven as the others are; its program takes minutes to compile.

It needs Cargo 1.88, newer than Debian 12's. It has producers and simple consumers only.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from compat_tests.support.artifacts import cache_folder, made, run
from compat_tests.support.grpc.builds import digest
from compat_tests.support.grpc.clients import GrpcDriver, Peer
from compat_tests.support.grpc.doors import GrpcServer
from compat_tests.support.peers import Peers
from compat_tests.support.processes import Process
from compat_tests.support.runtime import LocalRuntime, Runtime

SOURCE = Path(__file__).parent / "rust_driver"


class RustDriver(GrpcDriver):
    """One process with the client in it."""

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        return LocalRuntime(self._work).run([str(program())], {"HOME": str(self._work)})


def program() -> Path:
    """The program, built once and kept in the cache folder."""
    sources = sorted(path for path in SOURCE.rglob("*") if path.is_file())
    objects = cache_folder() / "grpc-rust-objects"
    command = ["cargo", "build", "-q", "--locked", "--manifest-path", str(SOURCE / "Cargo.toml")]

    def build(aside: Path) -> None:
        run([*command, "--target-dir", str(objects)])
        shutil.copy(objects / "debug" / "driver", aside)

    return made(cache_folder() / f"grpc-rust-{digest(sources)}", build)


def rust_at(server: GrpcServer, peers: Peers) -> Peer:
    """The client at a door, in the process that scenarios share."""
    driver = peers.shared("grpc-rust", lambda: RustDriver(peers.runtime, "rust", peers.work))
    return Peer(server, driver)
