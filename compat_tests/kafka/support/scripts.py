"""Scripts of Kafka's commands, whose output is compared between servers."""

from __future__ import annotations

from collections.abc import Callable

from compat_tests.kafka.support.commands import Commands, normalised
from compat_tests.kafka.support.servers import KafkaServer


class Script:
    """Commands against one server; keeps what they print, normalised."""

    def __init__(
        self, commands: Commands, server: KafkaServer, normalise: Callable[[str], str] = normalised
    ) -> None:
        self._commands = commands
        self._address = server.address
        self._normalise = normalise
        self.printed: list[str] = []

    def run(self, command: str, *arguments: str, text: str = "", exit: int = 0) -> str:
        """Run a command that ends with a status; returns what it printed, normalised."""
        output = self._commands.run(self._address, command, *arguments, text=text)
        assert output.exit == exit, output
        said = self._normalise(output.out + "\n" + output.err)
        self.printed.append(f"{command}: {said}")
        return said

    def run_unrecorded(self, command: str, *arguments: str) -> str:
        """Run a command whose output is the server's own."""
        said = self.run(command, *arguments)
        self.printed.pop()
        return said
