"""A signature adds fields to a request, and changes nothing else of what is answered to a super user."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import request_header
from tests.gateway.broker.test_records import SUPER, World
from tests.support.gateway.broker.helpers import MemoryBroker

USERS = range(RequestCode.AUTH_CREATE_USER, RequestCode.AUTH_LIST_ACL + 1)
"""Without access control there are no users."""


@pytest.fixture(scope="module")
def brokers() -> tuple[World, MemoryBroker]:
    """One with access control, and one without."""
    return World(), MemoryBroker(options={"recall_message_enable": True})


@pytest.mark.parametrize("code", sorted(set(REQUESTS) - set(USERS)), ids=str)
def test_signed_request_is_answered_as_an_unsigned_one(
    code: int, brokers: tuple[World, MemoryBroker]
) -> None:
    """With no field of its own, with the required ones, and with all."""
    secured, plain = brokers
    header = request_header(code)
    declared = () if header is None else header.__fields__
    values = {"int": "0", "long": "7", "boolean": "false"}
    for chosen in ([], [one for one in declared if one.required], declared):
        fields = {one.wire_name: values.get(one.type.name, "none") for one in chosen}
        signed, unsigned = secured.as_user(SUPER, code, **fields), plain.ask(code, ext=dict(fields))
        assert signed.waits == unsigned.waits, fields
        if not signed.waits:
            assert signed.code == unsigned.code, (fields, signed.remark, unsigned.remark)
