"""Settings that a client gets: those it sent, completed by this broker.

RocketMQ: `GrpcClientSettingsManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.messaging import MetricCollectorMode
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.names import duration

QUOTA = "lite.sub.client.quota"
QUOTA_DEFAULT = 2000
"""Lite topics that one client of a group may subscribe to. RocketMQ: `SubscriptionGroupAttributes`."""

_SECOND, _MINUTE, _HOUR = 1000, 60_000, 3_600_000
CUSTOMIZED = (
    *(seconds * _SECOND for seconds in (1, 5, 10, 30)),
    *(minutes * _MINUTE for minutes in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)),
    *(hours * _HOUR for hours in (1, 2)),
)
"""Delays before redeliveries, by the number of deliveries, in ms. RocketMQ: `CustomizedRetryPolicy`."""
_EXPONENTIAL = {"initial": 5 * _SECOND, "max": 2 * _HOUR, "multiplier": 2}
_MOST_TIMES = 32
_PAST_FIRST_LEVELS = 2


class RetryPolicy:
    """Redelivery delays of a group's messages that were not acknowledged."""

    def __init__(self, group: SubscriptionGroupConfig) -> None:
        policy: Mapping[str, Any] = group.group_retry_policy
        self.exponential: Mapping[str, int] | None = None
        self.customized = CUSTOMIZED
        if policy.get("type") == "EXPONENTIAL":
            self.exponential = _EXPONENTIAL | _whole_numbers(policy.get("exponentialRetryPolicy"))
            return
        given = policy.get("customizedRetryPolicy")
        times = given.get("next") if isinstance(given, Mapping) else None
        if isinstance(times, list) and times and all(isinstance(one, int) and one >= 0 for one in times):
            self.customized = tuple(times)

    def delay(self, times_consumed: int) -> int:
        """Return the delay of a message by the number of its earlier deliveries, in ms."""
        times = min(max(times_consumed, 0), _MOST_TIMES)
        if self.exponential is not None:
            values = self.exponential
            return min(values["max"], int(values["initial"] * values["multiplier"] ** times))
        return self.customized[min(times + _PAST_FIRST_LEVELS, len(self.customized) - 1)]

    def fill(self, backoff: v2.RetryPolicy) -> None:
        """Write the policy into the client's settings."""
        if self.exponential is not None:
            values = self.exponential
            backoff.exponential_backoff.CopyFrom(
                v2.ExponentialBackoff(
                    initial=duration(values["initial"]),
                    max=duration(values["max"]),
                    multiplier=values["multiplier"],
                )
            )
            return
        backoff.customized_backoff.CopyFrom(v2.CustomizedBackoff(next=map(duration, self.customized)))


def _whole_numbers(given: object) -> dict[str, int]:
    if not isinstance(given, Mapping):
        return {}
    return {name: value for name, value in given.items() if isinstance(value, int) and value >= 0}


def group_of(operations: Operations, name: str) -> SubscriptionGroupConfig:
    """Return the settings of a group; the defaults of a new group if it does not exist."""
    return operations.groups.get(name) or SubscriptionGroupConfig(name)


def lite_quota(group: SubscriptionGroupConfig) -> int:
    """Return the number of lite topics that a client of the group may subscribe to."""
    text = group.attributes.get(QUOTA, "")
    return int(text) if text.lstrip("-").isdigit() else QUOTA_DEFAULT


def answered(operations: Operations, settings: v2.Settings) -> v2.Settings:
    """Return the client's settings as they are now: groups may have changed since it sent them."""
    sent, options = v2.Settings(), operations.options
    sent.CopyFrom(settings)
    if sent.HasField("publishing"):
        _fill_producer(sent, options, operations.store_options.max_message_size)
    else:
        _fill_consumer(sent, options, group_of(operations, sent.subscription.group.name))
    sent.metric.Clear()
    sent.metric.SetInParent()
    _fill_metric(sent, options)
    return sent


def _fill_producer(sent: v2.Settings, options: BrokerOptions, body_max: int) -> None:
    backoff = sent.backoff_policy
    backoff.max_attempts = options.grpc_client_producer_max_attempts
    backoff.exponential_backoff.CopyFrom(
        v2.ExponentialBackoff(
            initial=duration(options.grpc_client_producer_backoff_initial_millis),
            max=duration(options.grpc_client_producer_backoff_max_millis),
            multiplier=options.grpc_client_producer_backoff_multiplier,
        )
    )
    sent.publishing.validate_message_type = options.enable_topic_message_type_check
    sent.publishing.max_body_size = body_max


def _fill_consumer(sent: v2.Settings, options: BrokerOptions, group: SubscriptionGroupConfig) -> None:
    sent.backoff_policy.max_attempts = group.retry_max_times + 1
    RetryPolicy(group).fill(sent.backoff_policy)
    subscription = sent.subscription
    subscription.fifo = group.consume_message_orderly
    subscription.receive_batch_size = options.grpc_client_consumer_long_polling_batch_size
    longest = options.grpc_client_consumer_max_long_polling_timeout_millis
    subscription.long_polling_timeout.CopyFrom(duration(longest))
    subscription.lite_subscription_quota = lite_quota(group)
    subscription.max_lite_topic_size = options.max_lite_topic_size


def _fill_metric(sent: v2.Settings, options: BrokerOptions) -> None:
    mode = options.metric_collector_mode
    if mode is MetricCollectorMode.PROXY:
        sent.metric.on = True
        sent.metric.endpoints.CopyFrom(sent.access_point)
    elif mode is MetricCollectorMode.ON:
        host, _, port = options.metric_collector_address.rpartition(":")
        sent.metric.on = True
        address = v2.Address(host=host, port=int(port) if port.isdigit() else 0)
        sent.metric.endpoints.CopyFrom(v2.Endpoints(scheme=v2.AddressScheme.IPv4, addresses=[address]))
