"""Requests on the wire: adds namespace and signature, and maps failures to client errors.

`Asking.ask` returns every answer, `expect` only successful ones. RocketMQ: `MQClientAPIImpl`,
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
from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.exchange import PeerGone, RemotingError, RequestTimedOut, TooManyInFlight

P = ParamSpec("P")
T = TypeVar("T")

VIP_DISTANCE: Final = 2
"""Difference between a broker's main port and its VIP port, which is lower and serves no pulls."""
_BINARY_CODE_MAX: Final = 0x7FFF
_JSON: Final = SerializeType.JSON


def as_deferred(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Deferred[T]]:
    """Wrap a coroutine function as a function that starts at once and returns a Deferred."""

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
        """Send a request and return the answer, including refusals; `timeout` in seconds.

        With `vip` the request may go to the VIP port, which serves no pulls. `fields` are sent in addition to
        those of the header. Raises `Unreachable`, `TimedOut` or `TooBusy`.
        """
        command = self._command(code, header, body, remark, fields)
        limit = self._timeout if timeout is None else timeout
        try:
            return await self._remoting.request(self._place(address, vip), command, max(0.0, limit))
        except (RemotingError, ProtocolError) as error:
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
        """Send a request as `ask` does, without a coroutine; for requests made for every message.

        `done` is called once with the answer or with the error, which the caller passes to `as_client_error`.
        The request takes ownership of `fields`.
        """
        command = self._made(code, fields, body, None)
        try:
            self._remoting.ask(self._place(address, vip), command, max(0.0, timeout), done)
        except ProtocolError as error:
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
        """Send a request as `ask` does, and raise `BrokerError` for a refusal."""
        answer = await self.ask(address, code, header, body, timeout=timeout, vip=vip)
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, address)
        return answer

    def send_oneway(
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
        """Send a one-way request. Its delivery is not confirmed."""
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
            # Binary headers store codes in 15 bits, so larger codes need JSON.
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
    """Map a connection error to a client error; other errors are returned unchanged."""
    if isinstance(error, RequestTimedOut):
        return TimedOut(f"{address}: {error}")
    if isinstance(error, TooManyInFlight):
        return TooBusy(f"{address}: {error}")
    if isinstance(error, PeerGone):
        return Unreachable(str(error))
    if isinstance(error, RemotingError | ProtocolError):
        return ClientError(f"{address}: {error}")
    return error
