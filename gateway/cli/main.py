"""The commands: `mqgateway serve`, `namesrv`, `broker` and so on, and RocketMQ's `mqnamesrv`, `mqbroker`.

A command reads its settings, reports their problems, and passes a service to `run`. Heavy
imports happen inside the commands, so that `--help` and errors are immediate.

Exit codes: 0 stopped cleanly or printed the output, 1 could not start, 2 wrong usage or settings.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mqgateway.engine.errors import EngineError
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import examples
from mqgateway.gateway.cli.boot import log_boot
from mqgateway.gateway.cli.collecting import WHILE_STARTING, seldom
from mqgateway.gateway.cli.ending import FAILED, PROGRAM, complain
from mqgateway.gateway.cli.environment import BROKERS_VARIABLE
from mqgateway.gateway.cli.later import GroupWithLater
from mqgateway.gateway.cli.loading import load_transports
from mqgateway.gateway.cli.numbering import asked_count, count_of, has_numbers
from mqgateway.gateway.cli.reading import apply_all, find_out_all
from mqgateway.gateway.cli.resources import RESOURCE_COMMANDS, with_verbs
from mqgateway.gateway.cli.service_flags import (
    FILE,
    HELP,
    PORT,
    begin_logging,
    common_options,
    fail,
    important_flag,
    process_start,
    report,
    standard,
)
from mqgateway.gateway.cli.settings import (
    BrokerSettings,
    NamesrvSettings,
    from_file,
    listing,
    stop_for,
)
from mqgateway.gateway.front_ends import FRONT_ENDS

if TYPE_CHECKING:
    from mqgateway.gateway.cli.secure import Secured

log = logging.getLogger(__name__)

IMPORTANT = (
    "brokerClusterName",
    "brokerId",
    "brokerIP1",
    "brokerName",
    "brokerRole",
    "flushDiskType",
    "listenPort",
    "namesrvAddr",
    "storePathRootDir",
)
"""Properties that `mqbroker -m` prints: RocketMQ's important properties."""
LATER = {
    "admin": "Run a command of Apache's mqadmin: `admin help` lists them.",
    "consume": "Consume TOPIC as a member of a group and print the messages.",
    "container": "Run a broker container, which runs each broker as its own process.",
    "controller": "Run a controller, which elects the masters of broker sets.",
    "kafka": "Show groups, transactions, producers and records of a Kafka cluster, and find problems.",
    "migrate": "Migrate the broker groups of a running cluster from Apache's brokers to mqgateway, and back.",
    "perf": "Measure the throughput and latency of sends and consumption.",
    "pipeline": "Run Spark jobs on topics and stores.",
    "send": "Send messages to TOPIC: the given BODIES, or the lines of a file or of standard input.",
    "store": "Check, rebuild, count, convert, back up and restore a store on disk.",
    "tail": "Print the newest messages of TOPIC.",
    "tier": "Save the log of a broker to an object store, check what is there, and restore it.",
}
"""Commands in modules of the same name, which are loaded when called, with their help texts."""


def run_services(
    namesrv: NamesrvSettings | None,
    broker: BrokerSettings | None,
    given: dict[str, Any],
    secured: Secured | None = None,
) -> None:
    """Run the services of the settings until a signal stops them. Print their summary when they are up."""
    seldom(WHILE_STARTING)
    load_transports()
    began, output = process_start(), given["output"]
    logged: dict[str, LogOptions] = {}
    if broker is not None:
        logged["broker"] = broker.broker
    if namesrv is not None:
        logged["namesrv"] = namesrv.namesrv
        if namesrv.namesrv.enable_controller_in_namesrv:
            logged["controller"] = namesrv.controller
    levels = begin_logging(given, logged)
    from mqgateway.gateway.cli.preconditions import check_start
    from mqgateway.gateway.cli.run import run
    from mqgateway.gateway.cli.services import Both

    try:
        check_start(namesrv, broker)
    except EngineError as error:
        fail(str(error).splitlines(), output)

    def started(service: Any) -> None:
        log_boot(service.boot_lines())
        summary = service.summary()
        if output == "json":
            document = {} if secured is None else {"secure": secured.as_json()}
            click.echo(json.dumps(document | summary.as_json()))
        else:
            secure_lines = [] if secured is None else secured.lines()
            click.echo("\n".join(secure_lines + summary.lines()))
        sys.stdout.flush()

    def reread(service: Any) -> None:
        try:
            waiting = service.reread(from_file(given.get("config")), from_file(given.get("namesrv_config")))
        except EngineError as error:
            log.error("settings were not changed: %s", error)
        else:
            log.info(
                "settings were reloaded; these take effect after a restart: %s",
                ", ".join(waiting) or "nothing more",
            )

    sys.exit(run(lambda reactor: Both(reactor, namesrv, broker, began), started, levels, reread))


def read_settings(
    given: dict[str, Any], *, namesrv: NamesrvSettings | None, broker: BrokerSettings | None
) -> Secured | None:
    """Fill the services' settings from files, environment and flags. Errors in them end the process.

    Return the generated credentials if both servers are secured (`--secure`).
    """
    output, problems, secured = given["output"], [], None
    try:
        problems = apply_all(given, namesrv, broker)
        if stop_for(problems, given["strict"]):
            fail(problems, output)
        secured = find_out_all(given, namesrv, broker)
    except EngineError as error:
        fail([*problems, str(error)], output)
    report(problems, output)
    if given["print_config"] or given.get("important"):
        _print_settings(given, [kind.options for kind in (namesrv, broker) if kind is not None])
        raise SystemExit(0)
    return secured


def _print_settings(given: dict[str, Any], sets: Sequence[Any]) -> None:
    for options in sets:
        if given.get("important"):
            click.echo("\n".join(f"{name}={options.get(name)}" for name in IMPORTANT))
        else:
            click.echo(listing(options, given["output"]))


EXAMPLES = examples.examples("mqgateway serve", "mqgateway send TopicTest hello", "mqgateway topic list")
SUBJECTS = {
    "Servers": ("serve", "namesrv", "broker", "container", "controller"),
    "Messages": ("send", "consume", "tail", "message", "dlq", "timer", "transaction", "trace"),
    "Topics and groups": ("topic", "group", "offset"),
    "Cluster": ("cluster", "config", "access", "admin"),
    "Diagnosis": ("top", "doctor", "kafka", "perf"),
    "Stores, moves and jobs": ("store", "tier", "dump", "migrate", "pipeline"),
    "This tool": ("profile",),
}
"""The commands by subject, as `--help` lists them."""


@click.group(
    PROGRAM, cls=GroupWithLater, later=LATER, subjects=SUBJECTS, epilog=EXAMPLES, context_settings=HELP
)
@click.version_option(package_name="mqgateway")
def main() -> None:
    """A RocketMQ name server and broker that stock RocketMQ clients use unchanged."""


def front_end_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a flag for the port of each front end."""
    for one in reversed(FRONT_ENDS):
        text = f"{one.flag_help}  [default: {one.serve_port}]"
        command = click.option(one.flag, one.parameter, type=PORT, help=text)(command)
    return command


@main.command(epilog=examples.SERVE)
@click.option(
    "-c", "--config", type=FILE, help="Settings file of the broker, in RocketMQ's broker.conf format."
)
@click.option("--namesrv-config", type=FILE, help="Settings file of the name server, in RocketMQ's format.")
@click.option("--data-dir", type=click.Path(file_okay=False), help="Data folder.  [default: home folder]")
@click.option("--namesrv-port", type=PORT, help="Port of the name server.  [default: 9876]")
@click.option(
    "--broker-port", type=PORT, help="Port of the broker. The VIP port is this port - 2.  [default: 10911]"
)
@click.option("--advertise", metavar="ADDRESS", help="Address that clients connect to (brokerIP1).")
@front_end_options
@click.option(
    "--brokers",
    metavar="N|auto",
    callback=asked_count,
    envvar=BROKERS_VARIABLE,
    default="1",
    help="Number of brokers, each a process of its own, so that each can use a core. auto: one for each "
    "core.  [default: 1]",
)
@click.option(
    "--secure",
    is_flag=True,
    help="Enable access control and TLS. The first start generates a super user and a certificate.",
)
@common_options
def serve(**given: Any) -> None:
    """Run name server and broker in one process, or with several brokers as processes."""
    namesrv, broker = NamesrvSettings(), BrokerSettings()
    secured = read_settings(given, namesrv=namesrv, broker=broker)
    try:
        count = count_of(given["brokers"], broker.store.store_path_root_dir, RealDisk())
    except EngineError as error:
        fail([str(error)], given["output"])
    if not has_numbers(count, broker.store.store_path_root_dir, RealDisk()):
        run_services(namesrv, broker, given, secured)
        return
    from mqgateway.gateway.cli.serving import run_brokers

    run_brokers(namesrv, broker, count, given, secured)


def namesrv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a name server, including RocketMQ's."""
    for option in (
        click.option(
            *("-n", "--namesrv", "--namesrvAddr", "ignored"),
            hidden=True,
            help="Accepted for compatibility, without effect.",
        ),
        click.option("--port", "namesrv_port", type=PORT, help="Port to listen on.  [default: 9876]"),
        click.option(
            "--data-dir",
            type=click.Path(file_okay=False),
            help="Data folder.  [default: home folder]",
        ),
        click.option(
            *("-c", "--config", "--configFile", "namesrv_config"),
            type=FILE,
            help="Settings file, in RocketMQ's format.",
        ),
    ):
        command = option(command)
    return common_options(command)


def broker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a broker, including RocketMQ's."""
    for option in (
        important_flag,
        click.option("--advertise", metavar="ADDRESS", help="Address that clients connect to (brokerIP1)."),
        click.option("--port", "broker_port", type=PORT, help="Port to listen on.  [default: 10911]"),
        click.option(
            "--data-dir",
            type=click.Path(file_okay=False),
            help="Data folder.  [default: home folder]",
        ),
        click.option(
            *("-n", "--namesrv", "--namesrvAddr", "namesrv_address"),
            metavar="HOST:PORT",
            help="Name servers, separated by ';'.",
        ),
        click.option(
            *("-c", "--config", "--configFile", "config"),
            type=FILE,
            help="Settings file, in RocketMQ's broker.conf format.",
        ),
    ):
        command = option(command)
    return common_options(command)


def run_namesrv(**given: Any) -> None:
    """Run a name server."""
    settings = NamesrvSettings()
    read_settings(given, namesrv=settings, broker=None)
    run_services(settings, None, given)


def run_broker(**given: Any) -> None:
    """Run a broker."""
    settings = BrokerSettings()
    read_settings(given, namesrv=None, broker=settings)
    run_services(None, settings, given)


for command in RESOURCE_COMMANDS:
    main.add_command(command)
main.command("namesrv", epilog=examples.NAMESRV)(namesrv_options(run_namesrv))
main.add_command(with_verbs("broker", run_broker, broker_options))
mqnamesrv = standard("mqnamesrv", epilog=examples.NAMESRV)(namesrv_options(run_namesrv))
mqbroker = standard("mqbroker", epilog=examples.BROKER)(broker_options(run_broker))


EXAMPLES_DUMP = """\b
Examples:
  mqgateway dump ~/store/commitlog/00000000000000000000 --limit 3
  mqgateway dump ~/store/dledger-n0/data/00000000000000000000 --limit 3
  mqgateway dump ~/store/consumequeue/TopicTest/0/00000000000000000000 --offset 2000
  mqgateway dump ~/store/config/consumerOffset.json --json
  mqgateway dump capture.bin --kind frame"""


@main.command(epilog=EXAMPLES_DUMP)
@click.argument("path", type=click.Path(exists=True, dir_okay=False))
@click.option("--kind", help="Kind of the file, if its path does not imply it: see the list above.")
@click.option("--offset", type=int, default=0, help="Start at this byte.")
@click.option("--limit", type=int, default=100, show_default=True, help="Print at most this many entries.")
@click.option("--output", type=click.Choice(("text", "json")), default="text", help="Output format.")
@click.option("--json", "as_json", is_flag=True, help="Short for --output json: one JSON object per line.")
def dump(path: str, kind: str | None, offset: int, limit: int, output: str, as_json: bool) -> None:
    """Decode and print a store file or captured frames.

    Kinds: commitlog, dledger, dledgerindex, consumequeue, batchconsumequeue, consumequeue_ext, index,
    checkpoint, table (a JSON file), timerwheel, timerlog, timercheck, text, frame.
    """
    from mqgateway.gateway.cli.dump import DumpError, dump_file

    try:
        for line in dump_file(path, kind, offset, limit, "json" if as_json else output):
            click.echo(line)
    except DumpError as error:
        complain(str(error))
        raise SystemExit(FAILED) from None


if __name__ == "__main__":
    main()
