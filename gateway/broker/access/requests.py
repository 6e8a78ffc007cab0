"""Requests about users and policies, in a broker's table: 3001 to 3010 of `gateway.access.requests`."""

from mqgateway.gateway.broker.needs import Needs, RequestDeclaration, on_first_use
from mqgateway.gateway.codec.codes import RequestCode

REQUESTS: dict[int, RequestDeclaration] = on_first_use(
    "mqgateway.gateway.access.requests",
    dict.fromkeys(
        (
            RequestCode.AUTH_CREATE_USER,
            RequestCode.AUTH_UPDATE_USER,
            RequestCode.AUTH_DELETE_USER,
            RequestCode.AUTH_GET_USER,
            RequestCode.AUTH_LIST_USER,
            RequestCode.AUTH_CREATE_ACL,
            RequestCode.AUTH_UPDATE_ACL,
            RequestCode.AUTH_DELETE_ACL,
            RequestCode.AUTH_GET_ACL,
            RequestCode.AUTH_LIST_ACL,
        ),
        Needs.NOTHING,
    ),
)
"""Requests by code; a slave copies its master's tables."""
