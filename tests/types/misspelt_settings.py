"""Settings of clients as a type checker sees them: misspelt names and wrong values are errors in every API.

mypy fails for a line that has no error, as `strict` warns of comments that ignore nothing.
"""

from mqgateway.gateway.client import LitePullConsumer, Producer, PushConsumer, aio
from mqgateway.gateway.client.deferred import Producer as Core
from mqgateway.gateway.client.deferred import environment

Producer("g", send_msg_timeout=5000, compress_type="LZ4")
Producer("g", send_msg_timout=5000)  # type: ignore[call-arg]
Producer("g", send_msg_timeout="5000")  # type: ignore[arg-type]
PushConsumer("g", print, consume_from_where="FIRST")  # type: ignore[arg-type]
PushConsumer("g", print, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
LitePullConsumer("g", auto_comit=False)  # type: ignore[call-arg]
aio.Producer("g", send_msg_timout=5000)  # type: ignore[call-arg]
aio.Producer("g", use_tls=True)


def core(reactor: object) -> None:
    Core("g", environment(reactor), send_msg_timout=5000)  # type: ignore[arg-type, call-arg]
