"""The commands `mqgateway pipeline archive|replay|orders|traffic`: ready-made Spark jobs.

They need `pip install mqgateway[spark]` and Java 17. Progress goes to standard error. The report, one JSON
object, goes to standard output or to `--report`. Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.gateway.cli.ending import complain
from mqgateway.gateway.cli.examples import examples

if TYPE_CHECKING:
    from mqgateway.pipeline.jobs.report import Report

OURS = re.compile(r"\b(?:pipeline|client)\.errors\.\w+: (.*)")
"""An error of the pipeline or of the client in a Python traceback."""
NEEDS_SPARK = "pyspark is not installed here: pip install 'mqgateway[spark]' (and Java 17)"


def spark_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that all Spark commands have."""
    for option in (
        click.option("--report", type=click.Path(dir_okay=False), help="File to write the report to."),
        click.option("--quiet", is_flag=True, help="Do not print progress."),
        click.option(
            "--conf", "conf", multiple=True, metavar="NAME=VALUE", help="Spark setting; repeatable."
        ),
        click.option(
            "--option",
            "pairs",
            multiple=True,
            metavar="NAME=VALUE",
            help="Option of the Spark format; repeatable.",
        ),
        click.option("--master", default="local[*]", show_default=True, help="Spark master."),
    ):
        command = option(command)
    return command


def server_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flag of the name servers."""
    return click.option(
        "-n",
        "--namesrv",
        envvar="NAMESRV_ADDR",
        default="127.0.0.1:9876",
        show_default=True,
        help="Name servers, separated by ';'.",
    )(command)


def reported(job: Callable[..., Report]) -> Callable[..., None]:
    """Return a command that runs `job` with a Spark session and the flags, and prints its report."""

    @functools.wraps(job)
    def run(**given: Any) -> None:
        try:
            from mqgateway.pipeline.jobs.session import new_session
        except ModuleNotFoundError as error:
            complain(f"{NEEDS_SPARK}: {error}")
            raise SystemExit(1) from None
        settings, notify, clock = pairs_of(given["conf"], "--conf"), _notify(given), SystemClock()
        try:
            notify(f"starting Spark at {given['master']}")
            begin = clock.monotonic()
            session = new_session("mqgateway", given["master"], settings)
            try:
                notify(
                    f"Spark is ready after {clock.monotonic() - begin:.1f} s; its first batch is the slowest"
                )
                report = job(session, **given)
            finally:
                session.stop()
        except Exception as error:
            complain(brief(error))
            raise SystemExit(1) from None
        if given["report"]:
            with click.open_file(given["report"], "w") as file:
                file.write(report.as_json() + "\n")
        else:
            click.echo(report.as_json())

    return run


def pairs_of(pairs: Sequence[str], flag: str) -> dict[str, str]:
    """Return `NAME=VALUE` texts as a dictionary. Raises `click.BadParameter`."""
    found = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not (name and separator):
            raise click.BadParameter(f"{pair} is not NAME=VALUE", param_hint=flag)
        found[name] = value
    return found


def brief(error: BaseException) -> str:
    """Return the relevant part of an error's text.

    Spark's errors contain Python's, which contain those of mqgateway. Without one, return three lines.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [found[1] for line in lines if (found := OURS.search(line))]
    return ours[-1] if ours else "\n".join(lines[:3])


def _notify(given: dict[str, Any]) -> Callable[[str], None]:
    return (lambda line: None) if given["quiet"] else functools.partial(click.echo, err=True)


@click.group(epilog=examples("mqgateway pipeline archive Orders /data/archive"))
def pipeline() -> None:
    """Run Spark jobs on topics and stores."""


@pipeline.command(epilog=examples("mqgateway pipeline archive Orders /data/archive --follow 60"))
@click.argument("topic")
@click.argument("target")
@click.option("--pattern", is_flag=True, help="Treat TOPIC as a regular expression.")
@click.option(
    "--follow",
    type=float,
    metavar="SECONDS",
    help="Run until interrupted, with a batch at this interval in seconds.",
)
@click.option("--checkpoint", help="Folder of the checkpoint.  [default: in TARGET]")
@server_flags
@spark_flags
@reported
def archive(session: Any, **given: Any) -> Report:
    """Write messages of TOPIC (or several, separated by ',') to Parquet under TARGET, by topic and day.

    Run it again to continue where it stopped.
    """
    from mqgateway.pipeline.jobs.archive import archive as run

    topic = {"topicPattern" if given["pattern"] else "topic": given["topic"]}
    options = {"nameServer": given["namesrv"], **topic, **pairs_of(given["pairs"], "--option")}
    return run(
        session,
        options,
        given["target"],
        checkpoint=given["checkpoint"],
        trigger_seconds=given["follow"],
        notify=_notify(given),
    )


@pipeline.command(epilog=examples("mqgateway pipeline replay /data/archive OrdersAgain --day 2026-01-31"))
@click.argument("source")
@click.argument("topic")
@click.option("--from-topic", help="Limit to this archived topic.")
@click.option("--day", metavar="yyyy-mm-dd", help="Limit to messages stored on this day.")
@click.option("--speed", type=float, help="Keep the delays between store times, divided by this factor.")
@server_flags
@spark_flags
@reported
def replay(session: Any, **given: Any) -> Report:
    """Send messages that `archive` wrote under SOURCE to TOPIC, each queue in order."""
    from mqgateway.pipeline.jobs.replay import replay as run

    options = {
        "nameServer": given["namesrv"],
        "topic": given["topic"],
        **pairs_of(given["pairs"], "--option"),
    }
    return run(
        session,
        given["source"],
        options,
        from_topic=given["from_topic"],
        day=given["day"],
        speed=given["speed"],
    )


@pipeline.command(epilog=examples("mqgateway pipeline orders Orders /data/totals OrderTotals"))
@click.argument("topic")
@click.argument("target")
@click.argument("result_topic")
@click.option("--rejects", "rejects_topic", help="Topic for messages that are not orders.")
@click.option(
    "--follow",
    type=float,
    metavar="SECONDS",
    help="Run until interrupted, with a batch at this interval in seconds.",
)
@server_flags
@spark_flags
@reported
def orders(session: Any, **given: Any) -> Report:
    """Count the orders in TOPIC by minute and shop, to Parquet under TARGET and to RESULT_TOPIC.

    An example to start from: an order is {"shop": "north", "amount": 12.5, "time": "2026-11-21T10:00:00Z"}.
    """
    from mqgateway.pipeline.jobs.orders import count_orders

    options = {
        "nameServer": given["namesrv"],
        "topic": given["topic"],
        **pairs_of(given["pairs"], "--option"),
    }
    return count_orders(
        session,
        options,
        given["target"],
        given["result_topic"],
        rejects_topic=given["rejects_topic"],
        trigger_seconds=given["follow"],
        notify=_notify(given),
    )


@pipeline.command(epilog=examples("mqgateway pipeline traffic ~/store --step hour --picture traffic.svg"))
@click.argument("store", type=click.Path(exists=True, file_okay=False))
@click.option("--step", type=click.Choice(("second", "minute", "hour", "day")), default="minute")
@click.option(
    "--picture", type=click.Path(dir_okay=False), help="SVG file to write with a chart of messages by time."
)
@spark_flags
@reported
def traffic(session: Any, **given: Any) -> Report:
    """Count messages, bytes and lag in the store folder STORE, without a broker."""
    from mqgateway.pipeline.jobs.traffic import traffic as run

    return run(
        session,
        given["store"],
        step=given["step"],
        picture=given["picture"],
        options=pairs_of(given["pairs"], "--option"),
    )
