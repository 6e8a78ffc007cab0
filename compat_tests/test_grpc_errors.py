"""What a gRPC door answers to calls that are wrong, or right in a way of their own, in every detail."""

from __future__ import annotations

import pytest

from compat_tests.support.grpc.answers import DEPARTURES, ask, recorded
from compat_tests.support.grpc.doors import door
from compat_tests.support.peers import Peers

pytestmark = pytest.mark.overlap


def test_answers_to_the_cases(kind: str, peers: Peers) -> None:
    """Apache's proxy says what the file keeps; ours the same, but where it is declared."""
    expected = recorded() | (DEPARTURES if kind == "ours" else {})
    found = ask(door(kind, peers))
    assert found.keys() == expected.keys()
    assert {name: text for name, text in found.items() if text != expected[name]} == {}


def test_departures_are_some() -> None:
    """Each is about a case, and is one."""
    apaches = recorded()
    assert not [name for name, text in DEPARTURES.items() if apaches[name] == text]
