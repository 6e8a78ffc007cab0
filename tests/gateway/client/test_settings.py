"""Settings as types: the same as the options, and a type checker finds what is misspelt."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest

from mqgateway.engine.options.option import Option, options_of
from mqgateway.gateway.client.options import (
    ClientOptions,
    ConsumerOptions,
    LitePullOptions,
    ProducerOptions,
    PullOptions,
    PushOptions,
    SimpleOptions,
)
from mqgateway.gateway.client.settings import (
    ClientSettings,
    ConsumerSettings,
    LitePullSettings,
    ProducerSettings,
    PullSettings,
    PushSettings,
    SimpleSettings,
)
from tests.house.source import ROOT

PAIRS = [
    (ClientOptions, ClientSettings),
    (ProducerOptions, ProducerSettings),
    (ConsumerOptions, ConsumerSettings),
    (PushOptions, PushSettings),
    (PullOptions, PullSettings),
    (SimpleOptions, SimpleSettings),
    (LitePullOptions, LitePullSettings),
]

PROGRAM = """
from mqgateway.gateway.client import LitePullConsumer, Producer, PushConsumer, aio
from mqgateway.gateway.client.deferred import Producer as Core, environment

Producer("g", send_msg_timeout=5000, compress_type="LZ4")
Producer("g", send_msg_timout=5000)
Producer("g", send_msg_timeout="5000")
PushConsumer("g", print, consume_from_where="FIRST")
PushConsumer("g", print, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
LitePullConsumer("g", auto_comit=False)
aio.Producer("g", send_msg_timout=5000)
aio.Producer("g", use_tls=True)


def core(reactor: object) -> None:
    Core("g", environment(reactor), send_msg_timout=5000)  # type: ignore[arg-type]
"""
WRONG_LINES = {6, 7, 8, 10, 11, 16}


@pytest.mark.parametrize(("options", "settings"), PAIRS, ids=lambda kind: kind.__name__)
def test_types_are_those_of_the_options(options: type[ClientOptions], settings: type[Any]) -> None:
    of_options = {one.attribute: _type_of(one) for one in options_of(options)}
    assert get_type_hints(settings) == {**of_options, "ssl_context": ssl.SSLContext | None}
    assert not settings.__required_keys__


def _type_of(option: Option) -> Any:
    kind = type(option.default)
    if issubclass(kind, StrEnum):
        return kind | Literal[tuple(choice.value for choice in kind)]  # type: ignore[operator]
    return kind


@pytest.mark.timeout(300)
def test_a_type_checker_finds_misspelt_settings_of_every_face(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", str(program)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    lines = [line for line in told.stdout.splitlines() if line.startswith("program.py:") and "error:" in line]
    assert {int(line.split(":")[1]) for line in lines} == WRONG_LINES, told.stdout + told.stderr
    assert all("send_msg_timout" in line for line in lines if ":6:" in line)
