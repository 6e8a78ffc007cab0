from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.options.option import options_of
from mqgateway.gateway.web.setting_groups import GROUPS, WITHOUT_EFFECT, group_of


def test_every_setting_of_broker_and_store_has_a_group() -> None:
    found = {group_of(one) for options in (BrokerOptions, StoreOptions) for one in options_of(options)}
    assert set(GROUPS) - {WITHOUT_EFFECT} <= found <= set(GROUPS)
