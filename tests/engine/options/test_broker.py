"""Settings of a broker, compared with RocketMQ's."""

from mqgateway.engine.options import BrokerOptions, OptionSet, Setting
from tests.support.engine.options.standard import differences


def test_every_property_is_known_by_type_and_default() -> None:
    """The listening port is set by RocketMQ's start-up code."""
    assert differences(OptionSet(BrokerOptions()), "BrokerConfig", "BrokerIdentity", "AuthConfig") == {
        "listenPort": "10911"
    }


def test_names_that_do_not_follow_the_rule_are_the_standards() -> None:
    options = OptionSet(BrokerOptions())
    options.apply([Setting("brokerIP1", "10.0.0.1"), Setting("migrateAuthFromV1Enabled", "true")])
    assert (options.get("brokerIP1"), options.get("migrateAuthFromV1Enabled")) == ("10.0.0.1", True)


def test_a_containers_mark_is_shown_by_one_name_and_taken_by_two() -> None:
    """RocketMQ shows the name of the field and reads that of the setter."""
    for name in ("isInBrokerContainer", "inBrokerContainer"):
        broker = BrokerOptions()
        options = OptionSet(broker)
        options.apply([Setting(name, "true")])
        assert broker.in_broker_container
        shown = options.as_properties().splitlines()
        assert "isInBrokerContainer=true" in shown and "inBrokerContainer=true" not in shown
