"""An editor whose Python half only notes what it is told."""

from __future__ import annotations

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk
from tests.support.chat import Chat
from tests.support.editor import Editor


@pytest.fixture
def editor(start_editor: StartEditor) -> Editor:
    return start_editor(init=QUIET_HOST)


@pytest.fixture
def desk(editor: Editor) -> Desk:
    """A chat, and what Python says to it and is told of it."""
    return Desk(editor, Chat.open(editor))
