"""Settings of connections and of TLS, compared with RocketMQ's."""

from mqgateway.engine.options import OptionSet, RemotingOptions, Setting, TlsMode, TlsOptions
from tests.support.engine.options.standard import differences


def test_every_property_is_known_by_type_and_default() -> None:
    """The listening port is set by RocketMQ's start-up code."""
    assert differences(OptionSet(RemotingOptions()), "NettyServerConfig", "NettyClientConfig") == {
        "listenPort": "10911"
    }


def test_the_frame_limit_is_known_by_the_standards_system_property() -> None:
    options = RemotingOptions()
    (problem,) = OptionSet(options).apply([Setting("com.rocketmq.remoting.frameMaxLength", "33554432")])
    assert options.frame_max_length == 32 * 1024**2
    assert problem.severity == "warning"


def test_tls_has_the_names_of_its_file() -> None:
    options = TlsOptions()
    text = [
        Setting("tls.test.mode.enable", "false"),
        Setting("tls.server.mode", "enforcing"),
        Setting("tls.server.need.client.auth", "require"),
        Setting("tls.server.keyPath", "/k"),
        Setting("tls.client.trustCertPath", "/t"),
    ]
    assert OptionSet(options).apply(text) == []
    assert options.tls_server_mode is TlsMode.ENFORCING
    assert (options.tls_server_key_path, options.tls_client_trust_cert_path) == ("/k", "/t")


def test_the_modes_are_lower_case() -> None:
    (problem,) = OptionSet(TlsOptions()).apply([Setting("tls.server.mode", "ENFORCING")])
    assert problem.suggestion == "use tls.server.mode=enforcing"
