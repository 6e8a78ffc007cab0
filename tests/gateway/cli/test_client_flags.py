"""Flags of the commands that are clients."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mqgateway.gateway.cli.client_flags import client_flags, configuration, reports_errors, settings
from mqgateway.gateway.client.errors import BrokerError, NoRoute
from tests.gateway.client.test_signals import default_sigterm

__all__ = ["default_sigterm"]


@click.command()
@client_flags
@reports_errors
def show(**given: Any) -> None:
    click.echo(repr(sorted(settings(given).items())))


def said(*arguments: str, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(show, arguments, env=env)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_flags_become_settings() -> None:
    assert said() == "[('namesrv_addr', '127.0.0.1:9876')]"
    assert said(env={"NAMESRV_ADDR": "ns:1"}) == "[('namesrv_addr', 'ns:1')]"
    text = said("-n", "a:1", "--tls", "--namespace", "ns", "--access-key", "k", "--secret-key", "s")
    assert text == (
        "[('access_key', 'k'), ('namespace', 'ns'), ('namesrv_addr', 'a:1'), ('secret_key', 's'), "
        "('use_tls', True)]"
    )


def test_settings_may_be_given_by_the_standards_name() -> None:
    text = said("--set", "sendMsgTimeout=5000", "--set", "vipChannelEnabled=true", "--set", "pullBatchSize=7")
    assert "('send_msg_timeout', 5000)" in text and "('vip_channel_enabled', True)" in text
    assert "('pull_batch_size', 7)" in text


@pytest.mark.parametrize("wrong", ["noSuchThing=1", "sendMsgTimeout", "sendMsgTimeout=soon"])
def test_settings_that_are_none_are_refused(wrong: str) -> None:
    result = CliRunner().invoke(show, ["--set", wrong])
    assert result.exit_code == 2 and wrong in result.output


def test_errors_of_the_client_are_one_line() -> None:
    def run(error: BaseException) -> Any:
        @click.command()
        @reports_errors
        def fail() -> None:
            raise error

        return CliRunner().invoke(fail)

    result = run(NoRoute("T"))
    assert result.exit_code == 3 and result.stdout == ""
    assert result.stderr.startswith("mqgateway: error: there is no topic T; see 'mqgateway topic list'")
    result = run(NoRoute("T", "it has no queue"))
    assert (result.exit_code, result.stderr) == (
        1,
        "mqgateway: error: no route to topic T: it has no queue\n",
    )
    result = run(BrokerError(1, "\x1b]0;title\x07", "a:1"))
    assert (result.exit_code, result.output) == (1, "mqgateway: error: a:1 answered 1: \\x1b]0;title\\x07\n")
    assert run(KeyboardInterrupt()).exit_code == 130


@pytest.mark.usefixtures("default_sigterm")
def test_sigterm_ends_a_command_as_ctrl_c_does() -> None:
    @click.command()
    @reports_errors
    def wait() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            click.echo("not reached")
        finally:
            click.echo("in good order")

    result = CliRunner().invoke(wait)
    assert (result.exit_code, result.output) == (130, "in good order\n")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_asking_uses_the_profile_and_the_tools_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cluster status` and `migrate` are configured as `mqadmin` is."""
    profiles = tmp_path / "mqgateway" / "profiles.toml"
    profiles.parent.mkdir()
    profiles.write_text('[profiles.test]\nname-servers = "10.0.0.1:9876"\ntimeout = 2\n')
    tools = tmp_path / "tools.yml"
    tools.write_text("accessKey: admin\nsecretKey: s\n")
    for name in ("NAMESRV_ADDR", "ROCKETMQ_ACCESS_KEY", "ROCKETMQ_SECRET_KEY", "ROCKETMQ_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    flags = {"access_key": None, "secret_key": None, "timeout": None, "tls": False}
    found = configuration({**flags, "credentials": str(tools), "profile": "test"})
    assert (found.name_servers, found.timeout) == (("10.0.0.1:9876",), 2.0)
    assert found.credentials is not None and found.credentials.access_key == "admin"
    with pytest.raises(click.UsageError, match="there is no such file"):
        configuration({**flags, "credentials": "none.yml", "profile": None})
