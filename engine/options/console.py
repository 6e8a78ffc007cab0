"""Settings of the console in the browser; all are ours, as the standard's is a service of its own."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class ConsoleOptions(Options):
    """Where the console is, and who may do what there."""

    console_port: int = option(
        0,
        "Port of the console in the browser; 0: none. `mqgateway serve` sets 8088.",
        high=65535,
        ours=True,
        effect=Effect.FIXED,
    )
    console_host: str = option(
        "127.0.0.1",
        "Address it is served at; any but this machine's own loopback needs authenticationEnabled.",
        ours=True,
        effect=Effect.FIXED,
    )
    console_hosts: str = option(
        "",
        "Names by which browsers call it beside localhost and addresses, as those of a reverse proxy; "
        "separated by commas.",
        ours=True,
        effect=Effect.FIXED,
    )
    console_roles: str = option(
        "",
        "Roles of users who are no super users, as name:viewer, name:reader, name:operator or name:admin, "
        "separated by commas; all others are viewers.",
        ours=True,
        effect=Effect.FIXED,
    )
    console_read_only: bool = option(
        False, "Nothing can be changed in it, by nobody.", ours=True, effect=Effect.FIXED
    )
    console_idle_minutes: int = option(
        30, "Who does nothing for so long has to log in again.", unit="min", low=1, ours=True
    )
