"""Quotas of Kafka clients: their limits, the rates of clients, and how long a client is throttled.

- `keys`: the limits that an entity may have, and their checks
- `changes`: AlterClientQuotas as new quotas of entities
- `filters`: DescribeClientQuotas as a choice of entities
- `limits`: which limit applies to a client
- `rates`: sampled rates and token buckets
- `usage`: the rates of clients, and the throttle times
- `enforcement`: what requests and connections use of their quotas

No sockets and no timers: `throttling` beside it holds connections. Kafka: `ClientQuotaManager`; KIP-13,
KIP-124, KIP-219, KIP-546, KIP-599, KIP-612.
"""
