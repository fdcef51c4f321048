"""What a protocol is: it writes requests, reads answers and learns from refusals."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Protocol

from agentchat.core.messages import Reply, ReplyPart
from agentchat.core.tools.model import ModelRequest
from agentchat.models.protocols.features import Body, Feature, Features
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from agentchat.models.response.body import EventReader
from agentchat.models.response.fields import mapping, mappings
from agentchat.models.response.refusal import ServerRefusal
from agentchat.models.response.reply import ReplyAssembly

VENDOR_DATA = "vendor data"
"""The feature of sending back what the server sent along with earlier answers."""

REASONING_REFUSED = (
    "The server refused the reasoning of earlier answers. It is sent without that reasoning now."
)
IMAGES_REFUSED = re.compile(
    r"image_url|image input|vision|multimodal|not support\w* image"
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
        return learned.notice

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
