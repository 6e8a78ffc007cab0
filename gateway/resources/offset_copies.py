"""`mqgateway offset clone`; apart from `offsets`, which needs none of mqadmin's command."""

from __future__ import annotations

from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.rendering import table

borrow("offset clone", "cloneGroupOffset", table("from", "to", "topic", "queues"), s="source", d="target")
