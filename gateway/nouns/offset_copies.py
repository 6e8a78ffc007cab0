"""`mqgateway offset clone`; apart from `offsets`, which needs none of mqadmin's command."""

from __future__ import annotations

from mqgateway.gateway.nouns.borrowed import borrow
from mqgateway.gateway.nouns.rendering import table

borrow("offset clone", "cloneGroupOffset", table("from", "to", "topic", "queues"), s="source", d="target")
