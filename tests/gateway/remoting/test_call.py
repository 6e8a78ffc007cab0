"""What request functions are given and give back."""

from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply, RequestError
from tests.support.gateway.remoting.pair import StillPeer


def test_a_reply_is_a_success_without_anything_unless_told_otherwise() -> None:
    reply = Reply()
    assert (reply.code, reply.header, reply.body, reply.remark, reply.ext) == (0, None, b"", None, None)


def test_no_reply_is_known_by_identity_not_by_looks() -> None:
    assert Reply() is not NO_REPLY


def test_a_refusal_carries_code_and_remark() -> None:
    error = RequestError(ResponseCode.NO_PERMISSION, "not you")
    assert (error.code, error.remark, error.header, str(error)) == (16, "not you", None, "not you")


def test_a_call_shows_who_asked_what() -> None:
    call = Call(RemotingCommand.request(105), None, b"", StillPeer("10.0.0.7:5"), 0)
    assert repr(call) == "Call(code=105, header=None, peer=10.0.0.7:5)"
