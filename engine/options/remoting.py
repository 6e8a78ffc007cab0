"""Settings of connections and of TLS.

Standard: `NettyServerConfig`, `NettyClientConfig`, `TlsSystemConfig`.
"""

from enum import StrEnum

from mqgateway.engine.options.accepted import REMOTING_ACCEPTED
from mqgateway.engine.options.option import INT_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NOT_COUNTED, SYSTEM_BUFFERS


class RemotingOptions(Options):
    """Accepted and opened connections."""

    listen_port: int = option(10911, "Port that the server listens on.", high=65535, effect=Effect.RESTART)
    bind_address: str = option("0.0.0.0", "Address that the server listens on.", effect=Effect.RESTART)
    server_socket_backlog: int = option(
        1024, "Maximum number of connections that wait to be accepted.", low=1, effect=Effect.RESTART
    )
    server_channel_max_idle_time_seconds: int = option(
        120, "Idle time after which an accepted connection is closed.", unit="s", low=1
    )
    server_socket_snd_buf_size: int = option(
        0,
        "Size of the send buffer of accepted connections. 0: the system's default.",
        no_effect=SYSTEM_BUFFERS,
    )
    server_socket_rcv_buf_size: int = option(
        0,
        "Size of the receive buffer of accepted connections. 0: the system's default.",
        no_effect=SYSTEM_BUFFERS,
    )
    server_oneway_semaphore_value: int = option(
        256, "Maximum number of one-way requests in flight to one client.", low=1, no_effect=NOT_COUNTED
    )
    server_async_semaphore_value: int = option(
        64, "Maximum number of requests to clients that await a response.", low=1, effect=Effect.RESTART
    )
    write_buffer_high_water_mark: int = option(
        0,
        "Unsent bytes at which the server stops reading from a connection. 0: 4 MiB.",
        unit="bytes",
        effect=Effect.RESTART,
    )
    write_buffer_low_water_mark: int = option(
        0,
        "Unsent bytes at which the server reads from the connection again. 0: a quarter of the high "
        "watermark.",
        unit="bytes",
        no_effect="a connection is read again once its buffer has emptied",
    )
    enable_shutdown_gracefully: bool = option(False, "Finish requests in flight before the server stops.")
    shutdown_wait_time_seconds: int = option(30, "Maximum time of a graceful stop.", unit="s")

    client_oneway_semaphore_value: int = option(
        65535, "Maximum number of one-way requests in flight to other servers.", low=1, no_effect=NOT_COUNTED
    )
    client_async_semaphore_value: int = option(
        65535,
        "Maximum number of requests to other servers that await a response.",
        low=1,
        effect=Effect.RESTART,
    )
    connect_timeout_millis: int = option(
        3000, "Timeout of opening a connection to another server.", unit="ms", low=1
    )
    client_channel_max_idle_time_seconds: int = option(
        120, "Idle time after which a connection to another server is closed.", unit="s", low=1
    )
    client_socket_snd_buf_size: int = option(
        0,
        "Size of the send buffer of connections to other servers. 0: the system's default.",
        unit="bytes",
        no_effect=SYSTEM_BUFFERS,
    )
    client_socket_rcv_buf_size: int = option(
        0,
        "Size of the receive buffer of connections to other servers. 0: the system's default.",
        unit="bytes",
        no_effect=SYSTEM_BUFFERS,
    )
    use_tls: bool = option(
        False, "Open connections to other servers with TLS.", name="useTLS", effect=Effect.RESTART
    )

    frame_max_length: int = option(
        16 * 1024**2,
        "Maximum size of a frame. A connection that exceeds it is closed.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        ours=True,
        old_names=("com.rocketmq.remoting.frameMaxLength",),
        effect=Effect.RESTART,
    )
    max_connections: int = option(
        20000, "Maximum number of open connections. Further connections are closed.", low=1, ours=True
    )
    max_requests_in_flight: int = option(
        4096,
        "Maximum number of unanswered requests of one connection. Further requests are answered with "
        "SYSTEM_BUSY.",
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
        "Maximum bytes of incomplete and waiting requests of all connections, at least the size of a "
        "frame. Beyond it, the connection that has held the most for the longest time is closed.",
        unit="bytes",
        low=1024,
        ours=True,
        effect=Effect.RESTART,
    )
    max_pending_input_of_peer: int = option(
        64 * 1024**2,
        "Maximum bytes of incomplete and waiting requests of all connections from one address.",
        unit="bytes",
        low=1024,
        ours=True,
        effect=Effect.RESTART,
    )
    max_header_size: int = option(
        256 * 1024,
        "Maximum size of a request's header. Larger ones are refused.",
        unit="bytes",
        low=1024,
        high=INT_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    max_header_fields: int = option(
        1000,
        "Maximum number of fields in a request's header. Requests with more are refused.",
        low=32,
        ours=True,
        effect=Effect.RESTART,
    )
    max_body_size: int = option(
        1024**2,
        "Maximum size of a request's body, except for messages, registrations, heartbeats and lists of "
        "topics and groups. Larger ones are refused.",
        unit="bytes",
        low=1024,
        ours=True,
    )
    max_body_parts: int = option(
        10000,
        "Maximum number of commas, brackets and lines in such a body. Requests with more are refused.",
        low=100,
        ours=True,
    )
    max_settings_size: int = option(
        256 * 1024, "Maximum size of a request that changes settings.", unit="bytes", low=1024, ours=True
    )
    max_settings_parts: int = option(
        2000,
        "Maximum number of lines, commas and brackets in a request that changes settings.",
        low=100,
        ours=True,
    )
    handshake_timeout_millis: int = option(
        10000, "Timeout of a PROXY header and a TLS handshake.", unit="ms", low=1, ours=True
    )

    also_accepted = REMOTING_ACCEPTED


class TlsMode(StrEnum):
    """TLS of a server's connections: refused, optional or required."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuthentication(StrEnum):
    """Client certificates of a server's connections."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


class TlsOptions(Options):
    """TLS, from the file named by `tls.config.file` or from system properties."""

    tls_enable: bool = option(
        False, "Open connections to other servers with TLS.", name="tls.enable", effect=Effect.FIXED
    )
    tls_test_mode_enable: bool = option(
        True,
        "Generate a self-signed certificate and accept any certificate. For tests only.",
        name="tls.test.mode.enable",
        effect=Effect.FIXED,
    )
    tls_config_file: str = option(
        "/etc/rocketmq/tls.properties",
        "File with the TLS settings.",
        name="tls.config.file",
        effect=Effect.FIXED,
    )
    tls_server_mode: TlsMode = option(
        TlsMode.PERMISSIVE,
        "TLS for clients: disabled, permissive (with or without TLS) or enforcing.",
        name="tls.server.mode",
        effect=Effect.FIXED,
    )
    tls_server_need_client_auth: ClientAuthentication = option(
        ClientAuthentication.NONE,
        "Client certificates: none, optional or require.",
        name="tls.server.need.client.auth",
        effect=Effect.FIXED,
    )
    tls_server_key_path: str = option(
        "", "Private key of the server (PKCS#8).", name="tls.server.keyPath", effect=Effect.FIXED
    )
    tls_server_key_password: str = option(
        "",
        "Password of tls.server.keyPath.",
        name="tls.server.keyPassword",
        secret=True,
        effect=Effect.FIXED,
    )
    tls_server_cert_path: str = option(
        "", "Certificate chain of the server.", name="tls.server.certPath", effect=Effect.FIXED
    )
    tls_server_auth_client: bool = option(
        False, "Verify client certificates.", name="tls.server.authClient", effect=Effect.FIXED
    )
    tls_server_trust_cert_path: str = option(
        "",
        "CA certificates that verify client certificates.",
        name="tls.server.trustCertPath",
        effect=Effect.FIXED,
    )
    tls_client_key_path: str = option(
        "", "Private key for connections to other servers.", name="tls.client.keyPath", effect=Effect.FIXED
    )
    tls_client_key_password: str = option(
        "",
        "Password of tls.client.keyPath.",
        name="tls.client.keyPassword",
        secret=True,
        effect=Effect.FIXED,
    )
    tls_client_cert_path: str = option(
        "",
        "Certificate chain for connections to other servers.",
        name="tls.client.certPath",
        effect=Effect.FIXED,
    )
    tls_client_auth_server: bool = option(
        False, "Verify the certificates of other servers.", name="tls.client.authServer", effect=Effect.FIXED
    )
    tls_client_trust_cert_path: str = option(
        "",
        "CA certificates that verify other servers.",
        name="tls.client.trustCertPath",
        effect=Effect.FIXED,
    )
    tls_ciphers: str = option(
        "",
        "Allowed ciphers, separated by commas. Empty: the defaults.",
        name="tls.ciphers",
        effect=Effect.FIXED,
    )
    tls_protocols: str = option(
        "",
        "Allowed TLS versions, separated by commas. Empty: the defaults.",
        name="tls.protocols",
        effect=Effect.FIXED,
    )
