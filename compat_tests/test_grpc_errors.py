"""Answers of a gRPC listener to invalid and unusual calls, compared in every detail."""

from __future__ import annotations

import pytest

from compat_tests.support.grpc.answers import DEPARTURES, ask, recorded
from compat_tests.support.grpc.doors import door
from compat_tests.support.peers import Peers

pytestmark = pytest.mark.overlap


def test_answers_to_the_cases(kind: str, peers: Peers) -> None:
    """Apache's proxy answers as recorded in the file; ours too, except for the declared departures."""
    expected = recorded() | (DEPARTURES if kind == "ours" else {})
    found = ask(door(kind, peers))
    assert found.keys() == expected.keys()
    assert {name: text for name, text in found.items() if text != expected[name]} == {}


def test_departures_are_some() -> None:
    """Each departure is about a case and differs from Apache's answer."""
    apaches = recorded()
    assert not [name for name, text in DEPARTURES.items() if apaches[name] == text]
