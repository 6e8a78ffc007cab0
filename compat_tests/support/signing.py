"""The official clients with credentials: programs in Java and Go that run one operation as one user.

They are outside the folders of the other programs, so that the records of those stay valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compat_tests.support.artifacts import SMALL_JVM, go_program, program
from compat_tests.support.driver import Driver
from compat_tests.support.processes import Process
from compat_tests.support.runtime import Runtime

GO = "go"
OPS = ("sync", "async", "transaction", "pull", "push")
"""Operations of a program."""


class Signer(Driver):
    """A process with one version of the Java client in it, or the Go client; ``work`` is for its files."""

    def __init__(self, runtime: Runtime, version: str, work: Path) -> None:
        self._work = work
        super().__init__(runtime, version)

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        if self.version == GO:
            env = {"HOME": str(self._work), "ROCKETMQ_GO_LOG_LEVEL": "fatal"}
            return runtime.run([str(go_program("../signing_go"))], env)
        # The jar set of the tools has the signing hook in both versions.
        return runtime.java(
            [*SMALL_JVM, "-cp", program("../signing_java", "tools", self.version), "compat.Signing"]
        )
