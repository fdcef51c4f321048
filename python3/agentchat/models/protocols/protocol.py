"""What a protocol is: it writes requests, reads answers and learns from refusals."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, Protocol

from agentchat.core.frozen import frozen
from agentchat.core.messages import Reply, ReplyPart
from agentchat.core.tools.model import ModelRequest
from agentchat.models.protocols.conversation import integer, mapping, mappings
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from agentchat.models.protocols.wire_history import WireHistory
from agentchat.models.response.refusal import ServerRefusal
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.response.stream import EventReader

Body = dict[str, Any]

REFUSING = frozenset({400, 404, 405, 422, 500, 501})
"""Statuses by which servers refuse a part of a request; some templates fail with 500."""


@frozen
class Feature:
    """A part of a request that some servers refuse.

    Args:
        refused: found in the message of a refusal.
        is_sent: whether a body has it.
        notice: for the user, where its loss is worth a line.
    """

    name: str
    refused: re.Pattern[str]
    is_sent: Callable[[Mapping[str, Any]], bool]
    notice: str = ""


OPTIONAL = frozenset({"effort", "reasoning", "reasoning_effort"})
"""Features that are refused for a value that the user may change."""


class Features:
    """The features that one server takes."""

    def __init__(self, known: Iterable[Feature], refused: Collection[str] = ()) -> None:
        self._known = tuple(known)
        self._refused = set(refused)

    def __contains__(self, name: str) -> bool:
        return name not in self._refused

    def learn(self, refusal: ServerRefusal, body: Mapping[str, Any]) -> Feature | None:
        """Return the feature that the refusal is about; it is not sent any more."""
        if refusal.status not in REFUSING:
            return None
        for feature in self._known:
            is_new = feature.name in self and feature.is_sent(body)
            if is_new and feature.refused.search(refusal.message):
                self._refused.add(feature.name)
                return feature
        return None

    def give_up(self, name: str) -> None:
        """Send a feature no more."""
        self._refused.add(name)

    @property
    def lasting(self) -> frozenset[str]:
        """What is refused of those that the user neither sets nor is told about."""
        silent = (known.name for known in self._known if not known.notice)
        return frozenset(self._refused).intersection(silent) - OPTIONAL

    def allow(self, name: str) -> None:
        """Send a feature again."""
        self._refused.discard(name)


def feature(name: str, refused: str, *path: str, notice: str = "") -> Feature:
    """Return a feature that is sent where the body has a value at ``path`` (default: its name)."""
    keys = path or (name,)
    pattern = re.compile(refused, re.IGNORECASE)
    return Feature(name, pattern, lambda body: _at(body, keys) is not None, notice)


WINDOW_FIELDS = (
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "inputTokenLimit",
    "max_input_tokens",
)
"""How servers name the context window in the description of a model."""


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


def _at(body: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    value: object = body
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


VENDOR_DATA = "vendor data"
"""The feature of sending back what the server sent along with earlier answers."""

SKIP_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes in place of the signature of a call that it did not make."""

REASONING_REFUSED = (
    "The server refused the reasoning of earlier answers. It is sent without that reasoning now."
)
IMAGES_REFUSED = re.compile(
    r"image_url|input_image|image input|vision|multimodal|not support\w* image"
    r"|\b0 image|content'? must be a string"
    r"|\bimages?\b.*\bnot (support|allow|enable|accept)",
    re.IGNORECASE,
)
NO_IMAGES_NOTICE = "The model takes no images: they are left out of the request."


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

    @staticmethod
    def root(base_url: str) -> str:
        """Return the URL below which the paths are."""
        return base_url

    @property
    @abstractmethod
    def path(self) -> str:
        """Where requests go, below the root."""

    @abstractmethod
    def body(self, request: ModelRequest) -> Body:
        """Return the JSON body of a streaming request."""

    @abstractmethod
    def reader(self, reply: ReplyAssembly) -> EventReader:
        """Return what reads one answer into ``reply``."""

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
        for model in mappings(mapping(page).get("data") or mapping(page).get("models")):
            if str(model.get("id") or model.get("name")).removeprefix("models/") == self.model:
                return find_window(model)
        return None

    def model_names(self, page: object) -> list[str]:
        """Return the names in the server's list of models."""
        models = mappings(mapping(page).get("data"))
        return [str(model["id"]) for model in models if model.get("id")]

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
