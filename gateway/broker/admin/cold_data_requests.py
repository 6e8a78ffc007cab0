"""Requests about old data: 2001 and 2002 set how much of it a group may read, 2003 shows how much was read.

2004 switches read-ahead from the disk. RocketMQ: `AdminBrokerProcessor`.
"""

from mqgateway.engine import lenient_json
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import load_properties
from mqgateway.gateway.broker.admin import cold_data
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import LongRequestFunction

READ_MODE = "READ_AHEAD_MODE"
NORMAL, RANDOM = "0", "1"
"""The modes, by their numbers in `madvise`. RocketMQ: `LibC`."""
LONG_MAX = 2**63 - 1


def set_thresholds(broker: Broker, call: Call) -> Reply:
    """2001 UPDATE_COLD_DATA_FLOW_CTR_CONFIG: properties text, `group=bytes`; all are set or none.

    Bad values are refused; RocketMQ ignores them silently.
    """
    thresholds = {}
    try:
        for setting in load_properties(call.body, "request"):
            thresholds[setting.key] = _number(setting.key, setting.value)
    except ConfigError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    cold_data.set_thresholds(broker, thresholds)
    return Reply()


def remove_threshold(broker: Broker, call: Call) -> Reply:
    """2002 REMOVE_COLD_DATA_FLOW_CTR_CONFIG: the body is the name of a group."""
    cold_data.remove_threshold(broker, call.body.decode("utf-8", "replace"))
    return Reply()


def show(broker: Broker, call: Call) -> Reply:
    """2003 GET_COLD_DATA_FLOW_CTR_INFO."""
    return Reply(body=lenient_json.dumps(cold_data.cold_data(broker)))


def set_read_mode(broker: Broker, call: Call) -> Reply:
    """2004 SET_COMMITLOG_READ_MODE."""
    fields = call.command.ext_fields
    if not fields:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode param error")
    mode = fields.get(READ_MODE, "")
    if not mode.removeprefix("-").isdecimal():
        raise RequestError(ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode failed")
    if mode not in (NORMAL, RANDOM):
        raise RequestError(ResponseCode.INVALID_PARAMETER, "set commitlog readahead mode param value error")
    cold_data.set_read_ahead(broker, mode == NORMAL)
    return Reply(remark=f"set commitlog readahead mode success, mode: {mode}")


def _number(group: str, text: str) -> int:
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20 and int(digits) <= LONG_MAX):
        raise ConfigError(f"the threshold of {group[:100]} is not a number: {text[:100]}")
    return int(text)


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: set_thresholds,
    RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: remove_threshold,
    RequestCode.GET_COLD_DATA_FLOW_CTR_INFO: show,
    RequestCode.SET_COMMITLOG_READ_MODE: set_read_mode,
}
