from mqgateway.engine.options.option import options_of
from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.web.setting_groups import GROUPS, SETTINGS, WITHOUT_EFFECT, group_of


def test_every_setting_of_a_broker_has_a_group() -> None:
    served = BrokerSettings()
    assert [type(one) for one in (served.broker, served.store, served.remoting, served.tls)] == list(SETTINGS)
    found = {group_of(one) for options in SETTINGS for one in options_of(options)}
    assert set(GROUPS) - {WITHOUT_EFFECT} <= found <= set(GROUPS)
