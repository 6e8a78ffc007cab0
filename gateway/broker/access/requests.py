"""Requests about users and policies, in a broker's table: 3001 to 3010 of `gateway.access.requests`."""

from mqgateway.gateway.access import requests
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration

REQUESTS: dict[int, RequestDeclaration] = {
    code: RequestDeclaration(function, Needs.NOTHING) for code, function in requests.REQUESTS.items()
}
"""Requests by code; a slave copies its master's tables."""
