"""A model behind HTTP: sends a request until there is an answer, or no hope of one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from agentchat.core.errors import ModelError, UserError
from agentchat.core.messages import Reply
from agentchat.core.tools.model import ModelRequest, Notice, Piece, RetryDelay
from agentchat.models.api_key import ApiKey
from agentchat.models.http import ConnectionFailure, HttpClient, Timeouts, silence
from agentchat.models.protocols.openai_chat import OpenAIChat
from agentchat.models.response.body import BodyReader
from agentchat.models.response.refusal import (
    ServerRefusal,
    biggest_part,
    explain,
    one_line,
    read_refusal,
)
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.retry import RetryPolicy, is_worth_retrying, retry_after
from agentchat.models.token_estimate import TokenEstimate

LIST_SECONDS = 3.0
"""How long the list of models may take that an error message names."""

Failure = ServerRefusal | ConnectionFailure
OnPiece = Callable[[Piece], None]


class ModelClient:
    """One model of one server.

    Args:
        name: the model's name as the server knows it.
        base_url: where the paths of the protocol begin; must begin with http or https.
        key: where the key comes from.

    Raises:
        UserError: ``base_url`` is not one.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        key: ApiKey,
        *,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._name = name
        self._key = key
        self._http = HttpClient(base_url, timeouts)
        self._protocol = OpenAIChat()
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
    def base_url(self) -> str:
        """Where the server is."""
        return self._http.base_url

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
            return await self._ask(request, await self._key.get(), on_piece)
        except UserError as error:
            return Reply(error=str(error), finish="unknown", model=self._name)
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _ask(self, request: ModelRequest, key: str, on_piece: OnPiece) -> Reply:
        tries = 0
        while True:
            body = self._protocol.body(request, self._name)
            outcome = await self._send(key, body, request, on_piece)
            if isinstance(outcome, Reply):
                self._check_count(body, outcome, on_piece)
                return outcome
            if isinstance(outcome, ServerRefusal) and self._protocol.adapt(outcome, body):
                continue
            tries += 1
            delay = self._delay(outcome, tries)
            if delay is None:
                raise UserError(await self._explain(key, outcome, body))
            on_piece(RetryDelay(delay, self._reason(outcome, tries)))
            await asyncio.sleep(delay)

    async def _send(
        self, key: str, body: dict[str, Any], request: ModelRequest, on_piece: OnPiece
    ) -> Reply | Failure:
        """Send the request once; what fails before the answer begins is returned."""
        replies = (m for m in request.history.messages if isinstance(m, Reply))
        used_ids = {call.id for reply in replies for call in reply.calls}
        answer = BodyReader(self._protocol.reader(ReplyAssembly(used_ids, self._name)))
        headers = self._protocol.headers(key)
        try:
            async with self._http.post(self._protocol.path, headers, body) as response:
                if response.status // 100 != 2:
                    beginning = await response.beginning()
                    return read_refusal(response.status, response.headers, beginning)
                chunks, timeouts = response.chunks(), self._http.timeouts
                return answer.reply(await receive(chunks, answer, on_piece, timeouts))
        except ConnectionFailure as failure:
            return failure

    def _check_count(self, body: dict[str, Any], reply: Reply, on_piece: OnPiece) -> None:
        """Warn, once, of a server that silently cuts the prompt."""
        counted = reply.usage.prompt_tokens if reply.usage else 0
        warning = self._estimate.check(body, counted, called=bool(reply.calls))
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

    async def _explain(self, key: str, failure: Failure, body: dict[str, Any]) -> str:
        if isinstance(failure, ConnectionFailure):
            return str(failure)
        if failure.status in (401, 403):
            self._key.forget()
        line = explain(
            failure,
            url=self.base_url,
            model=self._name,
            key_hint=self._key.hint,
            biggest=biggest_part(body) if failure.is_overflow else "",
        )
        return line + await self._other_models(key) if failure.status == 404 else line

    async def _other_models(self, key: str) -> str:
        """Return which models the server has, if it says so."""
        path, headers = self._protocol.models_path, self._protocol.headers(key)
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
