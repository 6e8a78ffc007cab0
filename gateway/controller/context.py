"""Context of the controller's request functions: its parts, without sockets."""

from __future__ import annotations

from dataclasses import dataclass

from mqgateway.engine.configuration import Configuration
from mqgateway.engine.controller.controller import Controller
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.controller.peers import ControllerPeer


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """Controller with its settings; `group` and `peers` are used only in answers."""

    controller: Controller
    configuration: Configuration
    group: str
    peers: list[ControllerPeer]
    access: AccessAdministration | None = None
    """Users and policies; None without access control."""
