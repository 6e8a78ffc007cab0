"""Settings of the gRPC service, which have the names of RocketMQ's proxy."""

from __future__ import annotations

from mqgateway.engine.options import BrokerOptions, OptionSet
from mqgateway.engine.options.messaging import MessagingOptions, MetricCollectorMode
from mqgateway.engine.options.option import options_of


def test_names_and_defaults_of_the_proxy() -> None:
    names = {one.name: one.default for one in options_of(MessagingOptions)}
    assert names["enableProxyAutoRenew"] is True
    assert names["renewMaxTimeMillis"] == 10_800_000
    assert names["maxUserPropertySize"] == 16_384
    assert names["grpcClientConsumerMaxLongPollingTimeoutMillis"] == 20_000
    ours = {one.name for one in options_of(MessagingOptions) if one.ours}
    assert ours == {
        "checkBodyDigest",
        "grpcAdvertisedAddress",
        "maxGrpcClients",
        "maxInflatedBody",
        "maxRememberedTransactions",
        "maxRenewedMessages",
        "receiptHandleKey",
    }


def test_they_are_settings_of_a_broker() -> None:
    options = BrokerOptions()
    settings = OptionSet(options)
    settings.set("metricCollectorMode", "proxy")
    assert options.metric_collector_mode is MetricCollectorMode.PROXY
    settings.set("receiptHandleKey", "secret")
    assert all("secret" not in str(one) for one in settings.effective())
