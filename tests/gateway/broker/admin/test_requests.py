"""One table holds what every subject of administration answers."""

from __future__ import annotations

from importlib import import_module

import pytest

from mqgateway.gateway.broker.admin.requests import REQUESTS, SUBJECTS


@pytest.mark.parametrize("subject", SUBJECTS)
def test_declared_codes_are_those_of_the_module(subject: str) -> None:
    module = import_module(f"mqgateway.gateway.broker.admin.{subject}")
    assert list(SUBJECTS[subject]) == list(module.REQUESTS)


def test_every_code_is_served_once() -> None:
    assert len(REQUESTS) == sum(len(needs) for needs in SUBJECTS.values())
    assert {code: request.needs for code, request in REQUESTS.items()} == {
        code: need for needs in SUBJECTS.values() for code, need in needs.items()
    }
