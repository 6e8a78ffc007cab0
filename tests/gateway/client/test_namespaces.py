"""Names within a namespace are those of the official client."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from tests.support.gateway.client.answers import JAVA


@pytest.mark.parametrize("name", JAVA["namespaces"])
def test_the_official_clients_names(name: str) -> None:
    assert [with_namespace("ns", name), without_namespace("ns", name)] == JAVA["namespaces"][name]


def test_without_a_namespace_names_stay() -> None:
    assert with_namespace("", "T") == without_namespace("", "T") == "T"
