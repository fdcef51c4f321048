"""Any server that speaks the OpenAI chat-completions protocol, through the official client."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentchat.core.errors import UserError
from agentchat.core.messages import Reply
from agentchat.core.tools.model import ModelRequest, Notice, Piece, Waiting
from agentchat.models import errors as failures
from agentchat.models.api_key import NO_KEY, Key
from agentchat.models.dialect import Dialect
from agentchat.models.errors import Refusal
from agentchat.models.protocols import openai_chat as wire
from agentchat.models.receiving import Limits, receive
from agentchat.models.reply import Assembly
from agentchat.models.retry import Backoff, retry_after, worth_retrying
from agentchat.models.stream import Answer
from agentchat.models.token_estimate import Estimate
from agentchat.models.unreachable import Unreachable, unreachable

if TYPE_CHECKING:
    from openai import AsyncOpenAI


Outcome = Reply | Refusal | Unreachable
Report = Callable[[Piece], None]

LIST_SECONDS = 3.0
"""How long the list of models may take that an error message names."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class OpenAIModel:
    """One model of one server.

    Args:
        name: the model's name as the server knows it.
        base_url: up to and without ``/chat/completions``; must begin with http or https.
        key: where the key comes from.

    Raises:
        UserError: ``base_url`` is not one.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        key: Key,
        limits: Limits | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._name = name
        self._url = checked_url(base_url)
        self._key = key
        self._limits = limits or Limits()
        self._backoff = backoff or Backoff()
        self._opening: asyncio.Future[AsyncOpenAI] | None = None
        self._dialect = Dialect()
        self._estimate = Estimate()
        self._warned = False

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self._name

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return self._url

    def warm_up(self) -> None:
        """Begin to load the client library, in a thread; needs a running event loop."""
        self._open()

    async def aclose(self) -> None:
        """Close the connections that are kept open."""
        opening, self._opening = self._opening, None
        if opening is not None:
            with contextlib.suppress(Exception):
                await (await opening).close()

    async def ask(self, request: ModelRequest, on_piece: Report) -> Reply:
        """Send one request, report pieces as they arrive, return the whole reply."""
        try:
            client = await asyncio.shield(self._open())
            key = await self._key.get()
        except UserError as error:
            return self._failed(str(error))
        except ImportError as error:
            return self._failed(f"The openai package does not load ({error}): run :AgentInstall.")
        except Exception as error:
            return self._failed(f"No connection can be set up: {error}. Check the proxy settings.")
        return await self._persist(client, key, request, on_piece)

    async def _persist(
        self, client: AsyncOpenAI, key: str, request: ModelRequest, on_piece: Report
    ) -> Reply:
        """Send the request until there is an answer, or no hope of one."""
        tried = 0
        while True:
            body = wire.body(request, self._name, self._dialect)
            outcome = await self._send(client, key, body, request, on_piece)
            if isinstance(outcome, Reply):
                self._check(body, outcome, on_piece)
                return outcome
            if isinstance(outcome, Refusal) and self._dialect.learn(outcome, body):
                continue
            tried += 1
            delay = self._delay(outcome, tried)
            if delay is None:
                return self._failed(await self._explain(client, key, outcome, body))
            on_piece(Waiting(delay, self._why(outcome, tried)))
            await asyncio.sleep(delay)

    async def _send(
        self,
        client: AsyncOpenAI,
        key: str,
        body: dict[str, Any],
        request: ModelRequest,
        on_piece: Report,
    ) -> Outcome:
        """Send one request once; what fails before the answer begins is returned."""
        import openai

        taken = {c.id for m in request.history.messages if isinstance(m, Reply) for c in m.calls}
        answer = Answer(Assembly(taken, self._name))
        # The body travels as it is: the client's own walk over long histories is slow.
        create: Any = client.chat.completions.with_streaming_response.create
        headers = {"Authorization": f"Bearer {key}"}
        try:
            async with create(
                model=self._name, messages=[], stream=True, extra_body=body, extra_headers=headers
            ) as response:
                broken = await receive(response.iter_bytes(), answer, on_piece, self._limits)
        except openai.APIStatusError as error:
            return failures.refusal(error.status_code, error.response.headers, _body(error))
        except openai.APIConnectionError as error:
            return unreachable(error, self._url, self._limits)
        return answer.reply(broken)

    def _check(self, body: dict[str, Any], reply: Reply, on_piece: Report) -> None:
        """Warn, once, of a server that silently cuts the prompt."""
        counted = reply.usage.prompt_tokens if reply.usage else 0
        warning = self._estimate.check(body, counted)
        if warning is not None and not self._warned:
            self._warned = True
            on_piece(Notice(warning))

    def _delay(self, outcome: Refusal | Unreachable, tried: int) -> float | None:
        """Return the seconds until the next try, None if there is none."""
        if tried >= self._backoff.tries:
            return None
        if isinstance(outcome, Unreachable):
            return self._backoff.delay(tried, None) if outcome.passing else None
        if outcome.overflow or not worth_retrying(outcome.status, outcome.headers, outcome.code):
            return None
        return self._backoff.delay(tried, retry_after(outcome.headers, time.time()))

    def _why(self, outcome: Refusal | Unreachable, tried: int) -> str:
        if isinstance(outcome, Refusal):
            what = f"The server answered {outcome.status}"
        else:
            what = outcome.short
        return f"{what} (try {tried} of {self._backoff.tries})."

    async def _explain(
        self, client: AsyncOpenAI, key: str, outcome: Refusal | Unreachable, body: dict[str, Any]
    ) -> str:
        if isinstance(outcome, Unreachable):
            return outcome.line
        if outcome.status in (401, 403):
            self._key.forget()
        biggest = failures.biggest_part(body) if outcome.overflow else ""
        line = failures.explain(outcome, self._url, self._name, self._key.where, biggest)
        return line + await self._others(client, key) if outcome.status == 404 else line

    async def _others(self, client: AsyncOpenAI, key: str) -> str:
        """Say which models the server has, if it tells."""
        try:
            page = await client.models.list(
                extra_headers={"Authorization": f"Bearer {key}"}, timeout=LIST_SECONDS
            )
            names = [str(model.id) for model in page.data if model.id]
        except Exception:  # it was only a courtesy
            return ""
        if not names or self._name in names:
            return ""
        shown = failures.one_line(", ".join(names))
        return f" It has: {shown}."

    def _failed(self, line: str) -> Reply:
        return Reply(error=line, finish="unknown", model=self._name)

    def _open(self) -> asyncio.Future[AsyncOpenAI]:
        """Return the client to be; a set-up that failed is tried again."""
        opening = self._opening
        if opening is None or (opening.done() and opening.exception() is not None):
            loop = asyncio.get_running_loop()
            opening = loop.run_in_executor(None, _client, self._url, self._limits)
            self._opening = opening
        return opening


def checked_url(url: str) -> str:
    """Return a base URL without its last slash; raises UserError if it is none."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise UserError(
            f"base_url is {url!r}: it must begin with http:// or https:// and name a host, "
            "like http://127.0.0.1:8080/v1."
        )
    return url.strip().rstrip("/")


def _client(url: str, limits: Limits) -> AsyncOpenAI:
    """Load the library and make a client; takes about a second, so it runs in a thread."""
    import httpx2
    import openai

    timeout = httpx2.Timeout(limits.byte_idle, connect=limits.connect)
    own = urlsplit(url).hostname in LOOPBACK  # a proxy could not reach it
    http = openai.DefaultAsyncHttpxClient(timeout=timeout, trust_env=not own)
    client = openai.AsyncOpenAI(
        base_url=url, api_key=NO_KEY, timeout=timeout, max_retries=0, http_client=http
    )
    _ = client.chat.completions.with_streaming_response  # loads what the library loads late
    return client


def _body(error: Any) -> bytes:
    try:
        return bytes(error.response.content)
    except Exception:  # not read to its end
        return str(error.message).encode()
