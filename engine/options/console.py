"""Settings of the web console; all are ours, as RocketMQ's console is a separate service."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class ConsoleOptions(Options):
    """Address of the console, and roles of its users."""

    console_port: int = option(
        0,
        "Port of the web console. 0: no console. `mqgateway serve` uses 8088.",
        high=65535,
        ours=True,
        effect=Effect.FIXED,
    )
    console_host: str = option(
        "127.0.0.1",
        "Address that the console listens on. Any address other than loopback requires "
        "authenticationEnabled.",
        ours=True,
        effect=Effect.FIXED,
    )
    console_hosts: str = option(
        "",
        "Host names that browsers may use in addition to localhost and IP addresses, for example that of "
        "a reverse proxy, separated by commas.",
        ours=True,
        effect=Effect.FIXED,
    )
    console_roles: str = option(
        "",
        "Roles of users that are not super users, as name:viewer, name:reader, name:operator or "
        "name:admin, separated by commas. All other users are viewers.",
        ours=True,
        effect=Effect.FIXED,
    )
    console_read_only: bool = option(
        False, "Forbid all changes through the console, for every user.", ours=True, effect=Effect.FIXED
    )
    console_idle_minutes: int = option(
        30, "Idle time after which a user has to log in again.", unit="min", low=1, ours=True
    )
