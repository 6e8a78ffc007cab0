"""Settings from the environment: variables, Java's options, and the file for TLS.

    NAMESRV_ADDR, ROCKETMQ_HOME         as RocketMQ's scripts read them
    MQGATEWAY_FLUSH_DISK_TYPE=...       any property, in upper snake case
    MQGATEWAY_BROKERS                   the flag --brokers of `mqgateway serve`
    JAVA_OPT, JAVA_OPT_EXT              of Java's options only -D<property> counts
    tls.config.file                     a separate properties file, of the lowest precedence

Standard: `runbroker.sh`, `MixAll`, `TlsHelper.extractTlsConfigFromFile`.
"""

import logging
import shlex
from collections.abc import Iterable, Mapping, Sequence

from mqgateway.engine.options import OptionSet, Setting, SettingProblem, TlsOptions, snake_case
from mqgateway.engine.options.option import closest

log = logging.getLogger(__name__)

STANDARD = {"NAMESRV_ADDR": "namesrvAddr", "ROCKETMQ_HOME": "rocketmqHome"}
"""RocketMQ's variables and the properties they set."""

PREFIX = "MQGATEWAY_"
BROKERS_VARIABLE = "MQGATEWAY_BROKERS"
"""Variable of the flag `--brokers`, which is no property."""
JAVA = ("JAVA_OPT", "JAVA_OPT_EXT")
OF_JAVA_ONLY = ("HEAP_OPTS", "MAX_HEAP_SIZE", "HEAP_NEWSIZE", "RMQ_NUMA_NODE")
"""Variables that size Java's memory: accepted without effect."""

SYSTEM_PROPERTIES = {
    "rocketmq.namesrv.addr": "namesrvAddr",
    "rocketmq.home.dir": "rocketmqHome",
    "rocketmq.acl.plain.file": "aclPlainFile",
}
"""Java's system properties and the properties they set; those of TLS have the same name."""


def from_environment(environment: Mapping[str, str], options: OptionSet) -> list[Setting]:
    """Return the settings of these options in the environment, in rising precedence.

    Java's options come first, then RocketMQ's variables, then those with the prefix `MQGATEWAY_`.
    """
    settings = [
        setting
        for variable in JAVA
        for setting in from_java_options(environment.get(variable, ""), variable)
        if setting.key in options
    ]
    settings += [
        Setting(name, environment[variable], 0, variable)
        for variable, name in STANDARD.items()
        if environment.get(variable) and name in options
    ]
    ours = _ours(environment)
    by_variable = {variable_of(name): name for name in options.names()} if ours else {}
    settings += [
        Setting(by_variable[variable], environment[variable], 0, variable)
        for variable in ours
        if variable in by_variable
    ]
    return settings


def from_java_options(text: str, source: str) -> list[Setting]:
    """Return the `-Dname=value` settings of a Java command line's options; other options are ignored."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    settings = []
    for word in words:
        name, equals, value = word.removeprefix("-D").partition("=")
        if word.startswith("-D") and equals:
            settings.append(Setting(SYSTEM_PROPERTIES.get(name, name), value, 0, source))
    return settings


def variable_of(name: str) -> str:
    """Return the variable that sets a property: `MQGATEWAY_FLUSH_DISK_TYPE` for `flushDiskType`."""
    return PREFIX + snake_case(name).upper()


def unknown_variables(environment: Mapping[str, str], sets: Sequence[OptionSet]) -> list[SettingProblem]:
    """Return a warning for each variable with the prefix that sets nothing; log Java's ignored variables."""
    ours = _ours(environment)
    known = [variable_of(name) for options in sets for name in options.names()] if ours else []
    problems = []
    for variable, value in sorted(environment.items()):
        if variable in ours and variable not in known:
            near = closest(variable, known)
            suggestion = f"did you mean {near}?" if near else ""
            problems.append(
                SettingProblem(
                    variable, value, "no such property", suggestion, "environment", severity="warning"
                )
            )
        elif variable in OF_JAVA_ONLY:
            log.info("%s=%s sets Java's memory and is ignored", variable, value)
    return problems


def _ours(environment: Mapping[str, str]) -> list[str]:
    """Return the variables with the prefix, sorted. If empty, callers need not build names of variables."""
    return sorted(
        variable for variable in environment if variable.startswith(PREFIX) and variable != BROKERS_VARIABLE
    )


def tls_file(settings: Iterable[Setting]) -> tuple[str, bool]:
    """Return the path of the file for TLS, and True if a setting names it: then it must exist."""
    named = [setting.value.strip() for setting in settings if setting.key == "tls.config.file"]
    return (named[-1], True) if named else (TlsOptions().tls_config_file, False)
