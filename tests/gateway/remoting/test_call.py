"""Arguments and results of request functions."""

from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply, RequestError
from tests.support.gateway.remoting.pair import StillPeer


def test_reply_defaults_to_empty_success() -> None:
    reply = Reply()
    assert (reply.code, reply.header, reply.body, reply.remark, reply.ext) == (0, None, b"", None, None)


def test_no_reply_is_compared_by_identity() -> None:
    assert Reply() is not NO_REPLY


def test_request_error_has_code_and_remark() -> None:
    error = RequestError(ResponseCode.NO_PERMISSION, "not you")
    assert (error.code, error.remark, error.header, str(error)) == (16, "not you", None, "not you")


def test_call_repr_has_code_and_peer() -> None:
    call = Call(RemotingCommand.request(105), None, b"", StillPeer("10.0.0.7:5"), 0)
    assert repr(call) == "Call(code=105, header=None, peer=10.0.0.7:5)"
