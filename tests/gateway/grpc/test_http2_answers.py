"""Answers within the windows of a peer, as `h2` sees them."""

from __future__ import annotations

from h2.settings import SettingCodes
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.grpc.v2 import Resource
from tests.support.gateway.grpc.client import Client, framed


def test_window_may_open_by_single_bytes() -> None:
    client = Client(window=0)
    answer = client.call("Echo", "x" * 50)
    client.acknowledges = False
    for number in range(57):
        assert len(answer.data) == number and not answer.has_ended
        client.h2.increment_flow_control_window(1, 1)
        client.pump()
    assert answer.names == ["x" * 50] and client.server.http2.held == 0


def test_window_may_become_negative() -> None:
    client = Client(window=1000)
    client.acknowledges = False
    answer = client.call("Echo", "x" * 3000)
    assert len(answer.data) == 1000
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
    client.pump()
    assert len(answer.data) == 1000
    client.h2.increment_flow_control_window(900, 1)
    client.pump()
    assert len(answer.data) == 1000
    client.h2.increment_flow_control_window(5000, 1)
    client.pump()
    assert answer.names == ["x" * 3000]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Echo", "Wait", "List", "Fail"]), st.text(max_size=300), st.booleans()),
        max_size=15,
    ),
    st.integers(0, 300),
)
def test_h2_accepts_every_answer(calls: list[tuple[str, str, bool]], window: int) -> None:
    """`h2` raises for a surplus frame, a wrong order, or data beyond a window."""
    client = Client(window=window)
    opened = []
    for method, name, is_reset in calls:
        stream = client.open(method)
        client.h2.send_data(stream, framed(Resource(name=name).SerializeToString())[:200])
        if is_reset:
            client.h2.reset_stream(stream)
        else:
            opened.append((stream, method, name))
        client.pump()
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100_000})
    client.pump()
    for stream, _, name in opened:
        rest = framed(Resource(name=name).SerializeToString())[200:]
        client.h2.send_data(stream, rest, end_stream=True)
    client.pump()
    for waiting in client.service.waiting:
        waiting.callback(Resource(name="late"))
    client.pump()
    for stream, method, name in opened:
        wanted = {"Echo": [name], "Wait": ["late"], "List": list(name), "Fail": []}[method]
        if name != "stay":
            assert client.answers[stream].names == wanted and client.answers[stream].has_ended
    assert client.server.kept == 0
