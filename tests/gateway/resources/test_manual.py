"""The manual page of the resource commands."""

from __future__ import annotations

from mqgateway.gateway.mqadmin.declaration import every
from mqgateway.gateway.mqadmin.manual import escaped
from mqgateway.gateway.resources import CATALOGUE, ELSEWHERE
from mqgateway.gateway.resources.manual import resource_page
from tests.house.source import ROOT


def test_installed_page_is_made_of_the_declarations() -> None:
    kept = (ROOT / "docs" / "mqgateway.1").read_text()
    assert kept == resource_page(), "python -m mqgateway.gateway.resources.manual > docs/mqgateway.1"


def test_page_has_operands_options_and_examples_of_every_command() -> None:
    shown = resource_page()
    assert ".SS offset show GROUP [TOPIC]\n" in shown
    for command in every(CATALOGUE):
        operands = [one for one in command.options if one.is_operand]
        words = [one.long.upper() if one.required else f"[{one.long.upper()}]" for one in operands]
        start = shown.index(f".SS {escaped(' '.join((command.name, *words)))}\n")
        part = shown[start : shown.index("\n.S", start + 1)]
        assert part.count(".TP\n") == len(command.options), command.name
        assert all(escaped(one) in part for one in CATALOGUE.examples[command.name])
    for name in ELSEWHERE:
        assert f".B {name}\n" in shown
