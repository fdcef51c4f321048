"""A model behind HTTP: sends a request until there is an answer, or no hope of one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

from agentchat.core.errors import ModelError, UserError
from agentchat.core.messages import Note, Reply, UserText
from agentchat.core.tools.model import ModelRequest, Notice, Piece, RetryDelay
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.api_key import ApiKey
from agentchat.models.http import ConnectionFailure, HttpClient, Timeouts, check_url, silence
from agentchat.models.prices import PriceList
from agentchat.models.protocols import PROTOCOLS
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from agentchat.models.protocols.protocol import Body
from agentchat.models.response.refusal import (
    ServerRefusal,
    explain,
    one_line,
    read_refusal,
)
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.response.stream import BodyReader
from agentchat.models.retry import RetryPolicy, is_worth_retrying, retry_after

BYTES_PER_TOKEN = 6.0
"""Before a server was measured. English and code have 4 to 5, so this asks for few tokens."""

LEAST_TOKENS = 1_000
"""A request estimated below this is not judged: a server's own template weighs too much in it."""

LEAST_COUNTED = 512
"""A server that cuts the prompt fills its context, and no context is smaller than this."""

SHORTFALL = 0.8
"""A count below this share of the estimate means that the server left something out."""


EXCESS = 1.6
"""A count beyond this share of what the messages alone should have holds more than those."""


class TokenEstimate:
    """Learns from each count of one server how many bytes make a token there."""

    def __init__(self) -> None:
        self._bytes_per_token = BYTES_PER_TOKEN

    def check(self, request: ModelRequest, counted: int, called: bool = False) -> str | None:
        """Return a warning if ``counted`` prompt tokens are far too few, else None.

        Args:
            called: the model has made a call, so it was given the tools.
        """
        size = size_of(request)
        expected = size / self._bytes_per_token
        if expected >= LEAST_TOKENS and not called and self._counts_only_messages(request, counted):
            return (
                f"The server counted {counted} prompt tokens where about {round(expected)} were "
                "sent: as many as without the tools. The model's chat template seems to have no "
                "tools, so it cannot use any. Choose a model that has."
            )
        if counted < LEAST_COUNTED or expected < LEAST_TOKENS:
            return None
        if counted >= SHORTFALL * expected:
            self._bytes_per_token = size / counted
            return None
        return (
            f"The server counted {counted} prompt tokens where about {round(expected)} were sent: "
            "it seems to cut the conversation. Raise its context size, or start a new chat."
        )

    def _counts_only_messages(self, request: ModelRequest, counted: int) -> bool:
        """Whether the messages are there and the tools are not; a call in them needs tools."""
        if any(isinstance(one, Reply) and one.calls for one in request.history.messages):
            return False
        size, whole = size_of(replace(request, tools=())), size_of(request)
        lacking = counted < SHORTFALL * whole / self._bytes_per_token
        share = counted * self._bytes_per_token / max(size, 1)
        return lacking and SHORTFALL <= share <= EXCESS


def size_of(request: ModelRequest) -> int:
    """Return the bytes of text in a request; images and reasoning are not counted."""
    return sum(size for _, size in _sizes(request))


def biggest_part(request: ModelRequest) -> str:
    """Name the biggest part of a request, with its size."""
    name, size = max(_sizes(request), key=lambda part: part[1])
    return f"{name} ({max(1, size // 1024)} KiB)"


def _sizes(request: ModelRequest) -> Iterator[tuple[str, int]]:
    schemas = [[tool.name, model_description(tool), model_schema(tool)] for tool in request.tools]
    dumped = json.dumps(schemas, ensure_ascii=False, separators=(",", ":"))
    yield "the tools' schemas", len(dumped.encode("utf-8", "replace")) if schemas else 0
    yield "the system prompt", _bytes(request.system)
    yield "a message of the user", _bytes(request.reminder or "")
    for message in request.history.messages:
        if isinstance(message, Reply):
            calls = (call.arguments for call in message.calls)
            yield "an answer of the model", _bytes("".join([message.text, *calls]))
        elif isinstance(message, UserText | Note):
            yield "a message of the user", _bytes(message.text)
        else:
            yield "a tool's result", _bytes(message.text)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


LIST_SECONDS = 3.0
"""How long the list of models may take that an error message names."""

Failure = ServerRefusal | ConnectionFailure
OnPiece = Callable[[Piece], None]
OnProtocol = Callable[[ProtocolName], None]

RESPONSES_PATH = "v1/responses"
"""What a server names that serves a model through the Responses protocol only."""

SWITCHED = "The server wants the protocol openai-responses for this model. It is used from now on."


class ModelClient:
    """One model of one server.

    Args:
        name: the model's name as the server knows it.
        base_url: where the paths of the protocol begin; must begin with http or https.
        key: where the key comes from.
        provider: who serves it; what its answers hold for it alone goes to nobody else.
        key_header: the header for the key, where it is not the protocol's.
        prices: what its requests cost; by default they are free.
        written_calls: calls that the model writes as text are taken as calls.
        on_protocol: called when the server wants another protocol.

    Raises:
        UserError: ``base_url`` is not one.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        key: ApiKey,
        *,
        protocol: ProtocolName = "openai-chat",
        provider: str = "",
        options: ModelOptions | None = None,
        key_header: str = "",
        prices: PriceList | None = None,
        written_calls: bool = True,
        on_protocol: OnProtocol | None = None,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.base_url = check_url(base_url)
        self._name = name
        self._key = key
        self._provider = provider
        self._options = options or ModelOptions()
        self._key_header = key_header
        self._prices = prices or PriceList(provider, name, is_free=True)
        self._written_calls = written_calls
        self._on_protocol = on_protocol
        self._protocol = PROTOCOLS[protocol](name, provider, self._options)
        self._http = HttpClient(self._protocol.root(self.base_url), timeouts)
        self._retry = retry or RetryPolicy()
        self._estimate = TokenEstimate()
        self._is_warned = False
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    @property
    def protocol(self) -> ProtocolName:
        """The protocol that the model is asked in."""
        return self._protocol.name

    def warm_up(self) -> None:
        """Begin to load the HTTP library, in a thread; needs a running event loop."""
        self._http.warm_up()

    async def close(self) -> None:
        """Close the connections, once no request is running any more."""
        await self._idle.wait()
        await self._http.close()

    async def ask(self, request: ModelRequest, on_piece: OnPiece) -> Reply:
        """Send one request, report pieces as they arrive, return the whole reply."""
        self._running += 1
        self._idle.clear()
        try:
            reply = await self._ask(request, await self._key.get(), on_piece)
            return await self._prices.add_cost(reply)
        except UserError as error:
            return Reply(
                error=str(error), finish="unknown", model=self._name, provider=self._provider
            )
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _ask(self, request: ModelRequest, key: str, on_piece: OnPiece) -> Reply:
        tries = 0
        await self._protocol.prepare(self._http, self._headers(key))
        while True:
            body = self._protocol.body(request)
            outcome = await self._send(key, body, request, on_piece)
            if isinstance(outcome, Reply):
                self._check_count(request, outcome, on_piece)
                return outcome
            if isinstance(outcome, ServerRefusal) and self._adapt(outcome, body, request, on_piece):
                continue
            tries += 1
            delay = self._delay(outcome, tries)
            if delay is None:
                raise UserError(await self._explain(key, outcome, request))
            on_piece(RetryDelay(delay, self._reason(outcome, tries)))
            await asyncio.sleep(delay)

    async def _send(
        self, key: str, body: Body, request: ModelRequest, on_piece: OnPiece
    ) -> Reply | Failure:
        """Send the request once; what fails before the answer begins is returned."""
        answer = BodyReader(self._protocol.reader(self._assembly(request)))
        try:
            async with self._http.post(self._protocol.path, self._headers(key), body) as response:
                if response.status // 100 != 2:
                    beginning = await response.beginning()
                    return read_refusal(response.status, response.headers, beginning)
                self._prices.warm_up()
                chunks, timeouts = response.chunks(), self._http.timeouts
                return answer.reply(await receive(chunks, answer, on_piece, timeouts))
        except ConnectionFailure as failure:
            return failure

    def _assembly(self, request: ModelRequest) -> ReplyAssembly:
        messages = request.history.messages
        replies = (m for m in messages if isinstance(m, Reply))
        may_write = self._written_calls and self._protocol.written_calls
        return ReplyAssembly(
            used_ids={call.id for reply in replies for call in reply.calls},
            model=self._name,
            provider=self._provider,
            tools={t.name: t.arguments.schema() for t in request.tools} if may_write else None,
            sources=[message.text for message in messages if not isinstance(message, Reply)],
        )

    def _headers(self, key: str) -> dict[str, str]:
        if self._key_header:
            return {self._key_header: key}
        return self._protocol.headers(key)

    def _adapt(
        self, refusal: ServerRefusal, body: Body, request: ModelRequest, on_piece: OnPiece
    ) -> bool:
        """Learn from a refusal; return whether to send the request again in another form."""
        if refusal.names(RESPONSES_PATH) and self._protocol.name == "openai-chat":
            self._switch("openai-responses")
            on_piece(Notice(SWITCHED))
            return True
        notice = self._protocol.adapt(refusal, body, request)
        if notice:
            on_piece(Notice(notice))
        return notice is not None

    def _switch(self, protocol: ProtocolName) -> None:
        self._protocol = PROTOCOLS[protocol](self._name, self._provider, self._options)
        if self._on_protocol is not None:
            self._on_protocol(protocol)

    def _check_count(self, request: ModelRequest, reply: Reply, on_piece: OnPiece) -> None:
        """Warn, once, of a server that silently cuts the prompt."""
        counted = reply.usage.prompt_tokens if reply.usage else 0
        warning = self._estimate.check(request, counted, called=bool(reply.calls))
        if warning is not None and not self._is_warned:
            self._is_warned = True
            on_piece(Notice(warning))

    def _delay(self, failure: Failure, tries: int) -> float | None:
        """Return the seconds until the next try, None if there is none."""
        if tries >= self._retry.tries:
            return None
        if isinstance(failure, ConnectionFailure):
            return self._retry.delay(tries, None) if failure.may_pass else None
        if failure.is_overflow:
            return None
        if not is_worth_retrying(failure.status, failure.headers, failure.code):
            return None
        return self._retry.delay(tries, retry_after(failure.headers, time.time()))

    def _reason(self, failure: Failure, tries: int) -> str:
        if isinstance(failure, ServerRefusal):
            reason = f"The server answered {failure.status}"
        else:
            reason = failure.short
        return f"{reason} (try {tries} of {self._retry.tries})."

    async def _explain(self, key: str, failure: Failure, request: ModelRequest) -> str:
        if isinstance(failure, ConnectionFailure):
            return str(failure)
        if failure.status in (401, 403):
            self._key.forget()
        line = explain(
            failure,
            url=self.base_url,
            model=self._name,
            key_hint=self._key.hint,
            biggest=biggest_part(request) if failure.is_overflow else "",
        )
        return line + await self._other_models(key) if failure.status == 404 else line

    async def _other_models(self, key: str) -> str:
        """Return which models the server has, if it says so."""
        path, headers = self._protocol.models_path, self._headers(key)
        names = self._protocol.model_names(await self._http.get_json(path, headers, LIST_SECONDS))
        if not names or self._name in names:
            return ""
        return f" It has: {one_line(', '.join(names))}."


async def receive(
    chunks: AsyncIterator[bytes],
    body: BodyReader,
    on_piece: OnPiece,
    timeouts: Timeouts,
) -> str | None:
    """Read ``chunks`` into ``body`` to its end; return what broke it off, if anything did."""
    clock = asyncio.get_running_loop().time
    progress, since = 0, clock()
    try:
        async with asyncio.timeout(None) as until:
            async for data in chunks:
                for piece in body.add(data):
                    on_piece(piece)
                if body.is_satisfied:
                    break
                if body.is_complete and until.when() is None:
                    until.reschedule(clock() + timeouts.after_finish)
                if body.progress != progress:
                    progress, since = body.progress, clock()
                elif clock() - since > timeouts.data_idle:
                    return silence("no part of an answer", timeouts.data_idle)
    except TimeoutError:  # the answer is complete, only its token count did not come
        pass
    except ModelError as error:
        return str(error)
    for piece in body.end():
        on_piece(piece)
    return None
