from mqgateway.engine.options import BrokerOptions, OptionSet


def test_there_is_no_console_unless_a_port_is_set() -> None:
    options = BrokerOptions()
    assert (options.console_port, options.console_host) == (0, "127.0.0.1")
    OptionSet(options).set("consolePort", "8088")
    assert options.console_port == 8088
