"""Members have the signatures that a client needs."""

from __future__ import annotations

import inspect

import pytest

from mqgateway.gateway.client.members import ProducerMember
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.transactions import TransactionProducer


def wanted(protocol: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("member", [Producer, TransactionProducer])
def test_producers_have_the_signatures(member: type) -> None:
    names = wanted(ProducerMember)
    assert set(names) == {"check_transaction", "route_known", "topics"}
    for name in names:
        mine, theirs = (inspect.signature(getattr(one, name)) for one in (member, ProducerMember))
        assert list(mine.parameters) == list(theirs.parameters)
