"""What a protocol is: it writes requests, reads answers and learns from refusals."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any, ClassVar, Protocol

from agentchat.core.messages import Image, Reply, ReplyPart
from agentchat.core.model import ModelRequest
from agentchat.models.protocols.conversation import Entry, Round, images_intro, without_images
from agentchat.models.protocols.features import VENDOR_DATA, Feature, Features
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from agentchat.models.protocols.wire_history import WireHistory
from agentchat.models.response.events import EventReader, integer, mapping, mappings, string
from agentchat.models.response.refusal import ServerRefusal

Body = dict[str, Any]
WireMessage = Mapping[str, Any]
"""A message of the history; protocols declare theirs with the types of the official client."""

WINDOW_FIELDS = (
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "inputTokenLimit",
    "max_input_tokens",
)
"""How servers name the context window in the description of a model."""


def listed_models(page: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the models in a server's list of them, each with its name."""
    for model in mappings(mapping(page).get("data") or mapping(page).get("models")):
        yield string(model.get("id") or model.get("name")).removeprefix("models/"), model


def find_window(model: Mapping[str, Any]) -> int | None:
    """Return the context window in the description of a model."""
    sizes = (integer(model.get(field)) for field in WINDOW_FIELDS)
    return next((size for size in sizes if size and size > 0), None)


def merge(body: Body, params: Mapping[str, Any]) -> Body:
    """Return the body with the parameters put in; tables within tables are merged."""
    merged = dict(body)
    for key, value in params.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


class JsonClient(Protocol):
    """Small requests for what a server says of itself."""

    async def post_json(
        self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], seconds: float
    ) -> object:
        """Return the JSON that answers a request, None if there is none in time."""


class WireProtocol(ABC):
    """A wire format as one model of one server speaks it.

    Args:
        model: the model's name as the server knows it.
        provider: who serves it; vendor data goes back to the same provider and model only.
        refused: names of features that the server does not take.
    """

    name: ClassVar[ProtocolName]
    reader: ClassVar[type[EventReader]]
    version: ClassVar[str] = ""
    """Where the paths are, behind the host, if the URL of the server does not say it."""
    models_path: ClassVar[str] = "models"
    features: ClassVar[tuple[Feature, ...]] = ()
    written_calls: ClassVar[bool] = False
    """Whether models behind this protocol may write calls as text."""

    def __init__(
        self,
        model: str,
        provider: str = "",
        options: ModelOptions | None = None,
        refused: Collection[str] = (),
    ) -> None:
        self.model = model
        self.provider = provider
        self.options = options or ModelOptions()
        self.takes = Features(self.features, refused)
        self.wire = WireHistory()
        self._refused_before = 0

    @classmethod
    def root(cls, base_url: str) -> str:
        """Return the URL below which the paths are; the version may be left out."""
        has_path = re.search("://[^/]+/", base_url) is not None
        return base_url if has_path or not cls.version else f"{base_url}/{cls.version}"

    @property
    @abstractmethod
    def path(self) -> str:
        """Where requests go, below the root."""

    def body(self, request: ModelRequest) -> Body:
        """Return the JSON body of a streaming request."""
        return merge(self._body(request), self.options.params)

    @abstractmethod
    def _body(self, request: ModelRequest) -> Body:
        """Return the body without the user's own parameters."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"Authorization": f"Bearer {key}"}

    async def prepare(self, http: JsonClient, headers: Mapping[str, str]) -> None:  # noqa: B027
        """Ask the server for what the first request needs to know."""

    def adapt(self, refusal: ServerRefusal, body: Body, request: ModelRequest) -> str | None:
        """Give up what the server does not take.

        Returns:
            a line for the user, often empty, if the request is to be sent again; else None.
        """
        learned = self.takes.learn(refusal, body)
        if learned is None:
            return None
        if learned.name == VENDOR_DATA:  # later answers may come with data that is valid again
            self._refused_before = len(request.history.messages)
            self.takes.allow(VENDOR_DATA)
        self.wire.clear()
        return learned.notice

    def learn_from_headers(self, headers: Mapping[str, str]) -> None:  # noqa: B027
        """Give up what the server ignores that names itself in the headers of its answer."""

    def learn_from_reply(self, request: ModelRequest, reply: Reply) -> None:  # noqa: B027
        """Give up what the server ignored without saying so."""

    @property
    def window(self) -> int | None:
        """The context window in tokens that requests ask for, if they do."""
        return None

    def window_in(self, page: object) -> int | None:
        """Return the context window of the model, if the list of models or the page has it."""
        settings = mapping(mapping(page).get("default_generation_settings"))
        if "n_ctx" in settings:  # llama.cpp describes the one model that it serves
            return integer(settings["n_ctx"])
        return next((find_window(m) for name, m in listed_models(page) if name == self.model), None)

    def model_names(self, page: object) -> list[str]:
        """Return the names in the server's list of models."""
        return [name for name, _ in listed_models(page) if name]

    @property
    def provider_name(self) -> str:
        """The provider, whatever the URL at which it is reached."""
        return self.provider.partition("@")[0]

    def is_same_model(self, reply: Reply) -> bool:
        """Whether a reply is of this model of this provider."""
        return (reply.provider, reply.model) == (self.provider, self.model)

    def is_own(self, reply: Reply, index: int) -> bool:
        """Whether a reply, at that place in the history, gets its vendor data back.

        That of a broken answer may be incomplete.
        """
        is_whole = reply.error is None
        return self.is_same_model(reply) and is_whole and index >= self._refused_before

    def opaque(self, reply: Reply, index: int, part: ReplyPart) -> dict[str, Any]:
        """Return the vendor data of a part, as far as it goes back to this server."""
        return mapping(part.opaque.get(self.name)) if self.is_own(reply, index) else {}

    # --- what every body has --------------------------------------------------------------------

    @property
    def temperature(self) -> float | None:
        """The temperature that requests ask for, if any."""
        return self.options.temperature if "temperature" in self.takes else None

    def forced(self, request: ModelRequest) -> str | None:
        """Return the tool that the model must call, if the server takes such a choice."""
        return request.forced if request.tools and "tool_choice" in self.takes else None

    def history(self, request: ModelRequest, basis: Hashable = None) -> list[WireMessage]:
        """Return the messages of the history; ``basis`` is what else their form depends on."""
        return self.wire.convert(request.history, self._entry, basis)

    def reminder(self, request: ModelRequest) -> list[WireMessage]:
        """Return the message after the history, if there is one."""
        return list(self._user(request.reminder, ())) if request.reminder else []

    def _entry(self, entry: Entry) -> Iterator[WireMessage]:
        if isinstance(entry, Round):
            yield from self._reply(entry)
            yield from self._results(entry)
        else:
            yield from self._user(*self.visible(entry.text, getattr(entry, "images", ())))

    def visible(self, text: str, images: tuple[Image, ...]) -> tuple[str, tuple[Image, ...]]:
        """Return text and images for the model; one that sees none gets a note in the text."""
        return (text, images) if "images" in self.takes else (without_images(text, images), ())

    def result_images(self, entry: Round) -> Iterator[WireMessage]:
        """Yield the images in results as a message of the user, where results are text only."""
        images = [(answer.call.name, image) for answer in entry.answers for image in answer.images]
        if images:
            seen = tuple(image for _, image in images)
            yield from self._user(*self.visible(images_intro(name for name, _ in images), seen))

    @abstractmethod
    def _reply(self, entry: Round) -> Iterator[WireMessage]:
        """Yield what the model said."""

    @abstractmethod
    def _results(self, entry: Round) -> Iterator[WireMessage]:
        """Yield the answers to its calls."""

    @abstractmethod
    def _user(self, text: str, images: tuple[Image, ...]) -> Iterator[WireMessage]:
        """Yield a message of the user."""
