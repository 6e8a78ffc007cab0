"""Users and policies, in a broker's table: 3001 to 3010 of `gateway.access.requests`."""

from mqgateway.gateway.access import requests
from mqgateway.gateway.broker.needs import Needs, Request

REQUESTS: dict[int, Request] = {
    code: Request(function, Needs.NOTHING) for code, function in requests.REQUESTS.items()
}
"""What is answered here; a slave takes over what its master has."""
