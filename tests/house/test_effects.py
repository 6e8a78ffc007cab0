"""When a change of a setting takes effect: what options declare, and what the code does, agree."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, RemotingOptions, StoreOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.option import Effect, options_of
from tests.house.source import module_name, source_files, tree

KINDS = (
    BrokerOptions,
    StoreOptions,
    RemotingOptions,
    NamesrvOptions,
    ControllerOptions,
    ContainerOptions,
)
AT_START = ("__init__", "__post_init__")
BY_NAME = {"maxBodyParts", "maxBodySize", "maxHeartbeatBodySize", "maxHeartbeatParts"} | {
    "maxListParts",
    "maxListSize",
    "maxSettingsParts",
    "maxSettingsSize",
    "logLevels",
}
"""Settings whose readers look them up by their names: `remoting.limits` and `cli.log_levels`."""


def reads(node: ast.AST, function: str = "") -> Iterator[tuple[str, str]]:
    """Yield each attribute that is read, with the function it is read in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load):
            yield child.attr, function
        is_function = isinstance(child, ast.FunctionDef | ast.Lambda)
        yield from reads(child, getattr(child, "name", "lambda") if is_function else function)


def test_live_settings_are_read_while_a_server_runs() -> None:
    """A live setting that only constructors read would be answered with success and change nothing."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in source_files():
        name = module_name(path)
        if not name.startswith(("engine.options", "gateway.cli", "gateway.client", "gateway.testing")):
            for attribute, function in reads(tree(path)):
                found[attribute].add(function)
    idle = [
        option.name
        for kind in KINDS
        for option in options_of(kind)
        if option.effect in (Effect.LIVE, Effect.ANNOUNCED)
        and not option.no_effect
        and option.name not in BY_NAME
        and not found[option.attribute] - set(AT_START)
    ]
    assert idle == []


def test_access_control_and_places_are_never_changed_by_request() -> None:
    for option in options_of(BrokerOptions) + options_of(StoreOptions):
        if option.name.startswith(("authentication", "authorization", "storePath", "console")):
            assert option.effect is Effect.FIXED or option.name == "consoleIdleMinutes", option.name
