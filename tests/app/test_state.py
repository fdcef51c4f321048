"""What the log may hold."""

from __future__ import annotations

import logging
import sys

from agentchat.app.state import LogFormatter
from agentchat.journal.file import SecretMask

KEY = "a-key-that-a-command-printed"


def test_a_key_is_masked_in_the_log_and_in_its_tracebacks() -> None:
    secrets = SecretMask()
    formatter = LogFormatter(secrets)
    secrets.add([KEY])
    try:
        raise ValueError(f"cannot send {KEY}")
    except ValueError:
        record = logging.LogRecord("n", logging.ERROR, "f", 1, "with %s", (KEY,), sys.exc_info())
    text = formatter.format(record)
    assert KEY not in text
    assert "with [secret]" in text
    assert "cannot send [secret]" in text
