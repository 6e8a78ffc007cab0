"""Terms follow the options."""

from twisted.internet.task import Clock

from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.remoting.connection_settings import HIGH_WATER_MARK, client_settings, server_settings


def test_terms_follow_options() -> None:
    options = RemotingOptions(max_requests_in_flight=5, max_unsent_bytes=9999, frame_max_length=2048)
    settings = server_settings(options, Clock(), None)
    assert (settings.hold_limit, settings.ask_limit, settings.unsent_limit, settings.frame_limit) == (
        5,
        64,
        9999,
        2048,
    )
    assert settings.high_water_mark == HIGH_WATER_MARK
    assert not settings.reads_always
    options.write_buffer_high_water_mark = 77
    ours = client_settings(options, Clock())
    assert (ours.high_water_mark, ours.ask_limit, ours.hold_limit) == (77, 65535, 5)
    assert ours.reads_always
