"""Settings of connections and of TLS.

Standard: `NettyServerConfig`, `NettyClientConfig`, `TlsSystemConfig`.
"""

from enum import StrEnum

from mqgateway.engine.options.accepted import REMOTING_ACCEPTED
from mqgateway.engine.options.option import INT_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NOT_COUNTED, SYSTEM_BUFFERS


class RemotingOptions(Options):
    """Connections, those that are accepted and those that are opened."""

    listen_port: int = option(10911, "Port to listen on.", high=65535, effect=Effect.RESTART)
    bind_address: str = option("0.0.0.0", "Address to listen on.", effect=Effect.RESTART)
    server_socket_backlog: int = option(
        1024, "Connections that may wait to be accepted.", low=1, effect=Effect.RESTART
    )
    server_channel_max_idle_time_seconds: int = option(
        120, "Silence after which a connection is closed.", unit="s", low=1
    )
    server_socket_snd_buf_size: int = option(
        0, "Size of a socket's send buffer; 0: the system's.", no_effect=SYSTEM_BUFFERS
    )
    server_socket_rcv_buf_size: int = option(
        0, "Size of a socket's receive buffer; 0: the system's.", no_effect=SYSTEM_BUFFERS
    )
    server_oneway_semaphore_value: int = option(
        256, "One-way requests to one client that may be under way.", low=1, no_effect=NOT_COUNTED
    )
    server_async_semaphore_value: int = option(
        64, "Requests to clients that may await their answers.", low=1, effect=Effect.RESTART
    )
    write_buffer_high_water_mark: int = option(
        0,
        "Unsent bytes at which a connection is read no more; 0: 4 MiB.",
        unit="bytes",
        effect=Effect.RESTART,
    )
    write_buffer_low_water_mark: int = option(
        0,
        "Unsent bytes at which it is read again; 0: a quarter of the high mark.",
        unit="bytes",
        no_effect="a connection is read again once its buffer has emptied",
    )
    enable_shutdown_gracefully: bool = option(False, "Finish what is under way before stopping.")
    shutdown_wait_time_seconds: int = option(30, "Longest time to stop.", unit="s")

    client_oneway_semaphore_value: int = option(
        65535, "One-way requests that may be under way.", low=1, no_effect=NOT_COUNTED
    )
    client_async_semaphore_value: int = option(
        65535, "Requests that may await their answers.", low=1, effect=Effect.RESTART
    )
    connect_timeout_millis: int = option(3000, "Longest time to open a connection.", unit="ms", low=1)
    client_channel_max_idle_time_seconds: int = option(
        120, "Silence after which a connection we opened is closed.", unit="s", low=1
    )
    client_socket_snd_buf_size: int = option(
        0, "Size of its send buffer; 0: the system's.", unit="bytes", no_effect=SYSTEM_BUFFERS
    )
    client_socket_rcv_buf_size: int = option(
        0, "Size of its receive buffer; 0: the system's.", unit="bytes", no_effect=SYSTEM_BUFFERS
    )
    use_tls: bool = option(False, "Open connections with TLS.", name="useTLS", effect=Effect.RESTART)

    frame_max_length: int = option(
        16 * 1024**2,
        "Length of a frame; a longer one closes the connection.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        ours=True,
        old_names=("com.rocketmq.remoting.frameMaxLength",),
        effect=Effect.RESTART,
    )
    max_connections: int = option(20000, "Connections open at once; more are closed.", low=1, ours=True)
    max_requests_in_flight: int = option(
        4096,
        "Requests of one connection that may wait for an answer; more are told: busy.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )
    max_unsent_bytes: int = option(
        64 * 1024**2,
        "Unsent bytes at which a connection is closed.",
        unit="bytes",
        low=1024,
        ours=True,
        effect=Effect.RESTART,
    )
    max_pending_input: int = option(
        128 * 1024**2,
        "Bytes of unfinished and waiting requests of all connections, at least those of a frame; "
        "above, whoever keeps the most for the longest time is cut off.",
        unit="bytes",
        low=1024,
        ours=True,
        effect=Effect.RESTART,
    )
    max_pending_input_of_peer: int = option(
        64 * 1024**2,
        "The same of all connections from one address.",
        unit="bytes",
        low=1024,
        ours=True,
        effect=Effect.RESTART,
    )
    max_header_size: int = option(
        256 * 1024,
        "Length of a request's header; a longer one is refused.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    max_header_fields: int = option(
        1000,
        "Fields of a request's header; one with more is refused.",
        low=32,
        ours=True,
        effect=Effect.RESTART,
    )
    max_body_size: int = option(
        1024**2,
        "Length of a request's body, but for messages, registrations, heartbeats and lists of topics and "
        "groups; a longer one is refused.",
        unit="bytes",
        low=1024,
        ours=True,
    )
    max_body_parts: int = option(
        10000, "Commas, brackets and lines in such a body; one with more is refused.", low=100, ours=True
    )
    max_settings_size: int = option(
        256 * 1024, "Length of a request to change settings.", unit="bytes", low=1024, ours=True
    )
    max_settings_parts: int = option(2000, "Lines, commas and brackets in it.", low=100, ours=True)
    handshake_timeout_millis: int = option(
        10000, "Longest time for a PROXY header and a TLS handshake.", unit="ms", low=1, ours=True
    )

    also_accepted = REMOTING_ACCEPTED


class TlsMode(StrEnum):
    """What a server does about TLS: refuse it, take both, insist on it."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuthentication(StrEnum):
    """Whether a server asks its clients for a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


class TlsOptions(Options):
    """TLS, from the file named by `tls.config.file` or from system properties."""

    tls_enable: bool = option(False, "Open connections with TLS.", name="tls.enable", effect=Effect.FIXED)
    tls_test_mode_enable: bool = option(
        True,
        "Make up a certificate and trust everyone.",
        name="tls.test.mode.enable",
        effect=Effect.FIXED,
    )
    tls_config_file: str = option(
        "/etc/rocketmq/tls.properties",
        "File with the other settings.",
        name="tls.config.file",
        effect=Effect.FIXED,
    )
    tls_server_mode: TlsMode = option(
        TlsMode.PERMISSIVE,
        "Whether connections may or must use TLS.",
        name="tls.server.mode",
        effect=Effect.FIXED,
    )
    tls_server_need_client_auth: ClientAuthentication = option(
        ClientAuthentication.NONE,
        "Whether clients are asked for a certificate.",
        name="tls.server.need.client.auth",
        effect=Effect.FIXED,
    )
    tls_server_key_path: str = option(
        "", "The server's private key, PKCS#8.", name="tls.server.keyPath", effect=Effect.FIXED
    )
    tls_server_key_password: str = option(
        "",
        "Password of that key.",
        name="tls.server.keyPassword",
        secret=True,
        effect=Effect.FIXED,
    )
    tls_server_cert_path: str = option(
        "", "The server's certificate chain.", name="tls.server.certPath", effect=Effect.FIXED
    )
    tls_server_auth_client: bool = option(
        False, "Check clients' certificates.", name="tls.server.authClient", effect=Effect.FIXED
    )
    tls_server_trust_cert_path: str = option(
        "",
        "Authorities that clients' certificates are checked against.",
        name="tls.server.trustCertPath",
        effect=Effect.FIXED,
    )
    tls_client_key_path: str = option(
        "", "The private key we show as a client.", name="tls.client.keyPath", effect=Effect.FIXED
    )
    tls_client_key_password: str = option(
        "",
        "Password of that key.",
        name="tls.client.keyPassword",
        secret=True,
        effect=Effect.FIXED,
    )
    tls_client_cert_path: str = option(
        "",
        "The certificate chain we show as a client.",
        name="tls.client.certPath",
        effect=Effect.FIXED,
    )
    tls_client_auth_server: bool = option(
        False, "Check servers' certificates.", name="tls.client.authServer", effect=Effect.FIXED
    )
    tls_client_trust_cert_path: str = option(
        "",
        "Authorities that servers' certificates are checked against.",
        name="tls.client.trustCertPath",
        effect=Effect.FIXED,
    )
    tls_ciphers: str = option(
        "", "Ciphers, separated by commas; empty: the usual.", name="tls.ciphers", effect=Effect.FIXED
    )
    tls_protocols: str = option(
        "", "Protocols, separated by commas; empty: the usual.", name="tls.protocols", effect=Effect.FIXED
    )
