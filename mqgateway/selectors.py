"""Which queue a message goes to; see `mqgateway.gateway.client.selectors`."""

from mqgateway.gateway.client.selectors import Selector, by_hash, by_random

__all__ = ["Selector", "by_hash", "by_random"]
