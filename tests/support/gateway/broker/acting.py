"""A group whose slave acts for its master, and another group that receives the slave's deliveries."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header

ASYNC, SYNC, SLAVE = BrokerRole
ACTING: dict[str, Any] = {
    "enable_slave_acting_master": True,
    "enable_remote_escape": True,
    "total_replicas": 2,
    "slave_read_enable": True,
    "ha_copy_whole_log": True,
    "timer_wheel_enable": True,
}
GONE = 25.0
"""Seconds after which all members have noticed the loss of a broker."""


class Scene:
    """Master and slave of the group b1, both online, and the master of b2 with the same topic."""

    def __init__(self, role: BrokerRole = ASYNC, **settings: Any) -> None:
        self.role = role
        self.group = Group(support_acting_master=True, notify_min_broker_id_changed=True)
        self.settings = ACTING | settings
        self.master = Member(self.group, 10911, role, 0, **self.settings)
        self.master.create("T")
        self.master.service.broker.tables.groups.find("G")
        self.other = Member(self.group, 30911, ASYNC, 0, broker_name="b2", timer_wheel_enable=True)
        self.other.create("T")
        self.slave = self.group.slave(**self.settings)
        self.group.wait(15)

    def lose_master(self) -> Scene:
        """Kill the master, and wait until all members have noticed."""
        self.master.kill()
        self.group.wait(GONE)
        return self

    def return_master(self) -> Scene:
        """Restart the master on its disk."""
        self.master.begin(self.role, 0)
        self.group.wait(15)
        return self

    @property
    def acts(self) -> bool:
        """True if the slave acts."""
        return self.slave.service.group.services.is_on

    def send(self, body: bytes, **properties: str) -> int:
        """Return the response code of a send to the master."""
        header = send_header("T", properties={"UNIQ_KEY": body.decode(), **properties}, queue_id=0)
        if "TRAN_MSG" in properties:
            header.sys_flag = 4
        return self.master.code(RequestCode.SEND_MESSAGE_V2, header, body)
