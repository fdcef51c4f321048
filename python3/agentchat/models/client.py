"""A model behind HTTP: sends a request until there is an answer, or no hope of one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from agentchat.core.errors import ModelError, UserError
from agentchat.core.messages import FinishReason, Reply
from agentchat.core.model import ModelRequest, Notice, Piece, RetryDelay, StoppedUsage
from agentchat.models.api_key import ApiKey, other_provider
from agentchat.models.http import (
    ConnectionFailure,
    HttpClient,
    HttpResponse,
    Timeouts,
    check_url,
    silence,
)
from agentchat.models.learned import LearnedServers, ModelMemory
from agentchat.models.prices import PriceList
from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from agentchat.models.protocols.protocol import Body, WireProtocol
from agentchat.models.providers import MODELS, PROVIDERS
from agentchat.models.response.body import BodyReader
from agentchat.models.response.overflow import is_overflow, window_in
from agentchat.models.response.refusal import ServerRefusal, explain, one_line, read_refusal
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.retry import RetryPolicy, is_worth_retrying, retry_after
from agentchat.models.token_estimate import TokenEstimate, biggest_part

END_SECONDS = 0.02
"""How long to wait for the end of an answer that is complete."""

LIST_SECONDS = 3.0
"""How long the list of models may take that an error message names."""

SECRET_CHARACTERS = 8
"""A shorter key is a placeholder."""


class TooLong(UserError):
    """The conversation is too long for the model."""


Failure = ServerRefusal | ConnectionFailure
OnPiece = Callable[[Piece], None]

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
        prices: what its requests cost, if the server does not say.
        written_calls: calls that the model writes as text are taken as calls.
        window_page: the path of what says how large the context is, ``models`` for the list.
        memory: what was learned of the model before, and what is learned goes to.

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
        window_page: str = "",
        memory: ModelMemory | None = None,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.base_url = check_url(base_url)
        self._name = name
        self._key = key
        self._provider = provider
        self._options = options or ModelOptions()
        self._key_header = key_header
        self._prices = prices
        self._written_calls = written_calls
        self._memory = memory or LearnedServers().of(base_url, name)
        self._protocol = self._speak(protocol)
        self._http = HttpClient(self._protocol.root(self.base_url), timeouts)
        self._retry = retry or RetryPolicy()
        self._window_page = window_page
        self._reported: int | None = None
        self._most_counted = 0
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

    @property
    def window(self) -> int | None:
        """The context window in tokens: as set, as reported, else not known.

        A report of less than the server has taken already is wrong.
        """
        reported = self._reported
        if reported is not None and reported < self._most_counted:
            reported = None
        known = (self._options.context, self._protocol.window, reported)
        return min((window for window in known if window is not None), default=None)

    async def learn_window(self) -> None:
        """Find out the window of the model: from its server, else from a table."""
        if self._window_page:
            is_list = self._window_page == MODELS
            path = self._protocol.models_path if is_list else self._window_page
            with contextlib.suppress(ConnectionFailure):
                self._reported = self._protocol.window_in(await self._get_page(path))
        if self.window is None and self._prices is not None:
            self._reported = await self._prices.window()

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
            reply = await self._ask(request, await self._get_key(), on_piece)
            return reply if self._prices is None else await self._prices.add_cost(reply)
        except UserError as error:
            finish: FinishReason = "overflow" if isinstance(error, TooLong) else "unknown"
            return Reply(error=str(error), finish=finish, model=self._name, provider=self._provider)
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _get_key(self) -> str:
        """Return the key; a key of another provider never leaves for this one's server."""
        key = await self._key.get()
        is_known = self._provider in PROVIDERS  # at another URL a server may take any key
        if is_known and (owner := other_provider(key, self._provider)):
            raise UserError(
                f"The key is one of {owner}, not of {self._provider}, and was not sent. "
                f"{self._key.hint}, or set provider = {owner!r} in g:agentchat.model."
            )
        return key

    async def _ask(self, request: ModelRequest, key: str, on_piece: OnPiece) -> Reply:
        tries = 0
        await self._protocol.prepare(self._http, self._headers(key))
        while True:
            body = self._protocol.body(request)
            outcome = await self._send(key, body, request, on_piece)
            if isinstance(outcome, Reply):
                self._protocol.learn_from_reply(request, outcome)
                self._check_count(request, outcome, on_piece)
                return self._mark_overflow(outcome)
            if isinstance(outcome, ServerRefusal) and self._adapt(outcome, body, request, on_piece):
                continue
            tries += 1
            delay = self._delay(outcome, tries)
            if delay is None:
                raise await self._failure(key, outcome, request)
            reason = f"{outcome.short} (try {tries} of {self._retry.tries})"
            on_piece(RetryDelay(delay, reason))
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
                if self._prices is not None:
                    self._prices.warm_up()
                self._protocol.learn_from_headers(response.headers)
                return await self._receive(response, answer, request, on_piece)
        except ConnectionFailure as failure:
            return failure

    async def _receive(
        self, response: HttpResponse, answer: BodyReader, request: ModelRequest, on_piece: OnPiece
    ) -> Reply:
        """Read the answer; one that breaks off has cost at least what is known of it."""
        try:
            failure = await receive(response.chunks(), answer, on_piece, self._http.timeouts)
        except asyncio.CancelledError:
            usage = self._estimate.least_usage(request, answer.reply())
            cost = None if self._prices is None else await self._prices.cost_of(usage)
            on_piece(StoppedUsage(replace(usage, cost=cost)))
            raise
        reply = answer.reply(failure)
        if reply.finish != "unknown" or reply.error is None or not reply.parts:
            return reply
        return replace(reply, usage=self._estimate.least_usage(request, reply))

    def _assembly(self, request: ModelRequest) -> ReplyAssembly:
        messages = request.history.messages
        replies = (m for m in messages if isinstance(m, Reply))
        may_write = self._written_calls and self._protocol.written_calls
        return ReplyAssembly(
            used_ids={*request.used_ids, *(c.id for reply in replies for c in reply.calls)},
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
        self._memory.learn_refused(self._protocol.name, self._protocol.takes.lasting)
        if notice:
            on_piece(Notice(notice))
        return notice is not None

    def _switch(self, protocol: ProtocolName) -> None:
        self._protocol = self._speak(protocol)
        self._memory.learn_protocol(protocol)

    def _speak(self, protocol: ProtocolName) -> WireProtocol:
        refused = self._memory.refused(protocol)
        return protocol_class(protocol)(self._name, self._provider, self._options, refused)

    def _check_count(self, request: ModelRequest, reply: Reply, on_piece: OnPiece) -> None:
        """Warn, once, of a server that silently cuts the prompt."""
        counted = reply.counted.prompt_tokens if reply.counted else 0
        self._most_counted = max(self._most_counted, counted)
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

    def _mark_overflow(self, reply: Reply) -> Reply:
        """Return a reply marked if it is nothing but the error that the request was too long."""
        if reply.error is None or reply.text or reply.calls or not is_overflow(reply.error):
            return reply
        self._learn_window(reply.error)
        return replace(reply, finish="overflow")

    def _learn_window(self, message: str) -> None:
        """Take the window that an error names, unless the user has set one that is smaller."""
        window = window_in(message)
        if window is not None:
            self._reported, self._most_counted = window, 0

    async def _failure(self, key: str, failure: Failure, request: ModelRequest) -> UserError:
        line = await self._explain(key, failure, request)
        if isinstance(failure, ServerRefusal) and failure.is_overflow:
            self._learn_window(failure.message)
            return TooLong(line)
        return UserError(line)

    async def _explain(self, key: str, failure: Failure, request: ModelRequest) -> str:
        if isinstance(failure, ConnectionFailure):
            return str(failure)
        if failure.status in (401, 403):
            self._key.forget()
        owner = other_provider(key, self._provider)
        looks = f": it looks like a key of {owner}" if owner else ""
        line = explain(
            failure,
            url=self.base_url,
            model=self._name,
            protocol=self._protocol.name,
            key_hint=f"{self._key.hint}{looks}",
            biggest=biggest_part(request) if failure.is_overflow else "",
        )
        if len(key) >= SECRET_CHARACTERS:
            line = line.replace(key, "[key]")  # some servers repeat it
        return line + await self._other_models() if failure.status == 404 else line

    async def list_models(self) -> list[str]:
        """Return the names of the server's models, none if it does not say.

        Raises:
            UserError: there is no key.
            ConnectionFailure: there is no server.
        """
        page = await self._get_page(self._protocol.models_path)
        return self._protocol.model_names(page)

    async def _get_page(self, path: str) -> object:
        headers = self._headers(await self._get_key())
        return await self._http.get_json(path, headers, LIST_SECONDS)

    async def _other_models(self) -> str:
        """Return which models the server has, if it says so."""
        with contextlib.suppress(ConnectionFailure):
            names = await self.list_models()
            if names and self._name not in names:
                return f" It has: {one_line(', '.join(names))}."
        return ""


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
                    await _read_end(chunks)
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


async def _read_end(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of a complete answer, if it comes now: its connection is then used again."""
    with contextlib.suppress(TimeoutError, ModelError):
        async with asyncio.timeout(END_SECONDS):
            async for _ in chunks:
                pass
