"""What request functions see of the controller: its parts, by name, and nothing of sockets."""

from __future__ import annotations

from dataclasses import dataclass

from mqgateway.engine.configuration import Configuration
from mqgateway.engine.controller.controller import Controller
from mqgateway.gateway.access.administration import Administration
from mqgateway.gateway.controller.peers import Peer


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """One controller with its settings; `group` and `peers` are only told."""

    controller: Controller
    configuration: Configuration
    group: str
    peers: list[Peer]
    access: Administration | None = None
    """Users and policies; None where nobody is asked who they are."""
