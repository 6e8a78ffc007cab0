"""How a request goes out: namespace and signature are added, failures become errors of the client.

`Asking.ask` gives whatever is answered; `expect` takes only success. Standard: `MQClientAPIImpl`,
`NamespaceRpcHook`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.client.credentials import CredentialsFile
from mqgateway.gateway.client.errors import BrokerError, ClientError, TimedOut, TooBusy, Unreachable
from mqgateway.gateway.client.options import ClientOptions
from mqgateway.gateway.codec.codes import LanguageCode, ResponseCode, SerializeType
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import CodecError
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.exchange import PeerGone, RemotingError, RequestTimedOut, TooManyInFlight

P = ParamSpec("P")
T = TypeVar("T")

VIP_DISTANCE: Final = 2
"""How far the port that serves no pulls lies below a broker's main one."""
_BINARY_CODE_MAX: Final = 0x7FFF
_JSON: Final = SerializeType.JSON


def as_deferred(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Deferred[T]]:
    """A coroutine function as one that begins at once and gives a Deferred."""

    @wraps(function)
    def begin(*args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        return Deferred.fromCoroutine(function(*args, **kwargs))

    return begin


class Asking:
    """Requests of one client."""

    def __init__(
        self,
        remoting: RemotingClient,
        options: ClientOptions,
        credentials: Credentials | CredentialsFile | None = None,
    ) -> None:
        self._remoting = remoting
        self._timeout = options.mq_client_api_timeout / 1000
        self._vip = options.vip_channel_enabled
        self._form = options.serialize_type.number
        self._language = LanguageCode[options.language]
        self._namespace = options.namespace_v2
        self._credentials = credentials

    async def ask(
        self,
        address: str,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        timeout: float | None = None,
        vip: bool = False,
        remark: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> RemotingCommand:
        """The answer of a server, refusals included; `timeout` in seconds.

        `vip`: a request that may go to the port that serves no pulls. `fields` go along beside those of the
        header. Raises `Unreachable`, `TimedOut` or `TooBusy`.
        """
        command = self._command(code, header, body, remark, fields)
        limit = self._timeout if timeout is None else timeout
        try:
            return await self._remoting.request(self._place(address, vip), command, max(0.0, limit))
        except (RemotingError, CodecError) as error:
            raise as_client_error(address, error) from None

    def begin(
        self,
        address: str,
        code: int,
        fields: dict[str, str],
        body: bytes,
        timeout: float,
        done: Callable[[RemotingCommand | Exception], None],
        *,
        vip: bool = False,
    ) -> None:
        """As `ask`, for what is asked for every message: `done` is called once, with the answer or the error,
        which is to be told `as_client_error`. The fields become the request's own."""
        command = self._made(code, fields, body, None)
        try:
            self._remoting.ask(self._place(address, vip), command, max(0.0, timeout), done)
        except CodecError as error:
            done(error)

    async def expect(
        self,
        address: str,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        timeout: float | None = None,
        vip: bool = False,
    ) -> RemotingCommand:
        """As `ask`, but a refusal is raised as `BrokerError`."""
        answer = await self.ask(address, code, header, body, timeout=timeout, vip=vip)
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, address)
        return answer

    def tell(
        self,
        address: str,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        vip: bool = False,
        remark: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Say something that is not answered; nobody learns whether it arrived."""
        command = self._command(code, header, body, remark, fields)
        self._remoting.send_oneway(self._place(address, vip), command)

    def _command(
        self,
        code: int,
        header: Header | None,
        body: bytes,
        remark: str | None,
        fields: Mapping[str, str] | None = None,
    ) -> RemotingCommand:
        ext = {} if header is None else header.encode()
        if fields:
            ext.update(fields)
        return self._made(code, ext, body, remark)

    def _made(self, code: int, fields: dict[str, str], body: bytes, remark: str | None) -> RemotingCommand:
        command = RemotingCommand(
            code,
            language=self._language,
            remark=remark,
            ext_fields=fields,
            body=body,
            # Binary headers have no room for the larger codes.
            serialize_type=self._form if code <= _BINARY_CODE_MAX else _JSON,
        )
        if self._namespace:
            command.ext_fields["nsd"] = "true"
            command.ext_fields["ns"] = self._namespace
        credentials = self._credentials
        if credentials is not None:
            current = credentials.current() if isinstance(credentials, CredentialsFile) else credentials
            current.sign(command)
        return command

    def _place(self, address: str, vip: bool) -> str:
        if not (vip and self._vip):
            return address
        host, _, port = address.rpartition(":")
        return f"{host}:{int(port) - VIP_DISTANCE}"


def as_client_error(address: str, error: Exception) -> Exception:
    """What went wrong as the client tells it; what is no error of the connection stays as it is."""
    if isinstance(error, RequestTimedOut):
        return TimedOut(f"{address}: {error}")
    if isinstance(error, TooManyInFlight):
        return TooBusy(f"{address}: {error}")
    if isinstance(error, PeerGone):
        return Unreachable(str(error))
    if isinstance(error, RemotingError | CodecError):
        return ClientError(f"{address}: {error}")
    return error
