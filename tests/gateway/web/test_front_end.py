"""The console as it is declared."""

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.web.front_end import CONSOLE


def test_console_that_listens_for_others_needs_a_login() -> None:
    assert CONSOLE.problems is not None
    assert not list(CONSOLE.problems(BrokerOptions(console_port=8088)))
    (problem,) = CONSOLE.problems(BrokerOptions(console_port=8088, console_host="0.0.0.0"))
    assert "consoleHost=0.0.0.0" in problem


def test_console_runs_in_commands_only() -> None:
    assert not CONSOLE.is_for_clients
