"""Levels of single loggers follow the setting, and go back when it no longer names them."""

import logging

from mqgateway.engine.options import BrokerOptions, NamesrvOptions
from mqgateway.gateway.cli.log_levels import LogLevels


def level(name: str) -> int:
    return logging.getLogger(name).level


def test_levels_follow_the_settings_of_all_servers() -> None:
    broker, namesrv = BrokerOptions(), NamesrvOptions()
    logging.getLogger("test.before").setLevel(logging.ERROR)
    levels = LogLevels([namesrv, broker])
    broker.log_levels = "test.before:debug, test.other:WARNING"
    namesrv.log_levels = "test.names:info"
    levels.follow()
    assert [level(f"test.{name}") for name in ("before", "other", "names")] == [
        logging.DEBUG,
        logging.WARNING,
        logging.INFO,
    ]
    broker.log_levels = ""
    levels.follow()
    assert [level(f"test.{name}") for name in ("before", "other", "names")] == [
        logging.ERROR,
        logging.NOTSET,
        logging.INFO,
    ]


def test_a_level_set_otherwise_stays_while_the_setting_does() -> None:
    broker = BrokerOptions(log_levels="test.held:debug")
    levels = LogLevels([broker])
    levels.follow()
    logging.getLogger("test.held").setLevel(logging.ERROR)
    levels.follow()
    assert level("test.held") == logging.ERROR
