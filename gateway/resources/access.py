"""`mqgateway access users` and `policies`; `check` is a command of `gateway.cli.access`."""

from __future__ import annotations

from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.rendering import table

borrow("access users", "listUser", table("username", "userType", "userStatus", nothing="no users"))
borrow(
    "access policies",
    "listAcl",
    table("subject", "policyType", "resource", "actions", "sourceIps", "decision", nothing="no policies"),
)
