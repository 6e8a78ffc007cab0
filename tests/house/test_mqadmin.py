"""A call of mqadmin is short because of what it does not load."""

import json
import subprocess
import sys

from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.resources import PLACES as RESOURCE_COMMANDS
from tests.house.source import ROOT

BANNED = ("twisted", "OpenSSL", "cryptography", "click", "rich", "psutil", "asyncio", "ssl", "argparse")
OURS_BANNED = ("engine.store.message_store", "engine.pop", "engine.options.broker", "gateway.remoting")
MODULES_MAX = 160
"""Modules that may be loaded when the most used command has been."""


def _loaded(statement: str) -> set[str]:
    """Return the modules that a statement loads in a fresh interpreter."""
    script = f"import sys; before = set(sys.modules); {statement}; import json; print(json.dumps("
    script += "sorted(set(sys.modules) - before)))"
    output = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    return set(json.loads(output.stdout))


def _wrong(modules: set[str]) -> list[str]:
    banned = (*BANNED, *(f"mqgateway.{name}" for name in OURS_BANNED))
    return sorted(name for name in modules if any(f"{name}.".startswith(f"{one}.") for one in banned))


def test_no_command_loads_what_is_slow() -> None:
    room = "mqgateway.gateway.mqadmin"
    loads = "; ".join(
        f"import {room}.commands.{place}" for place in sorted({one.module for one in PLACES.values()})
    )
    assert not _wrong(_loaded(f"import {room}.main; {loads}"))


def test_no_resource_command_loads_slow_modules() -> None:
    room = "mqgateway.gateway.resources"
    loads = "; ".join(
        f"import {room}.{place}" for place in sorted({one.module for one in RESOURCE_COMMANDS.values()})
    )
    assert not _wrong(_loaded(f"import {room}.main; {loads}"))


def test_a_call_loads_its_own_command_only() -> None:
    room = "mqgateway.gateway.mqadmin"
    modules = _loaded(f"from {room}.main import find; find('topicList')")
    assert len(modules) <= MODULES_MAX, f"{len(modules)}: {sorted(modules)}"
    assert {name for name in modules if name.startswith(f"{room}.commands.")} == {
        f"{room}.commands.topic_views"
    }


def test_a_list_of_all_commands_loads_none_of_them() -> None:
    room = "mqgateway.gateway.mqadmin"
    modules = _loaded(f"from {room}.main import Surroundings, Tool; Tool(Surroundings(len, len)).run([])")
    assert not [name for name in modules if name.startswith(f"{room}.commands.")]
    assert len(modules) <= MODULES_MAX, f"{len(modules)}: {sorted(modules)}"


def test_resource_command_is_recognized_before_the_tool_is_loaded() -> None:
    modules = _loaded(
        "from mqgateway.gateway import resources; assert resources.is_resource_command(['topic', 'list'])"
    )
    assert not {"mqgateway.gateway.mqadmin.main", "mqgateway.gateway.codec.command"} & modules
