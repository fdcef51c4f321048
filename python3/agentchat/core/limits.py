"""The limits of the tools and the turn; sizes in bytes, times in seconds."""

from __future__ import annotations

KIB = 1024

READ_LINES = 2_000
READ_BYTES = 256 * KIB
BASH_SECONDS = 120
COMMAND_PROCESSES = 512
COMMAND_MEMORY_MB = 4096
BASH_BYTES = 512 * KIB
RESULT_BYTES = 64 * KIB
"""A larger result is sent as its head and tail, half of this each."""
CHECKPOINT_BYTES = 64 * 1024 * KIB
"""Most bytes of the files that are saved before a call."""

LONGEST_ERROR = 60 * KIB
"""Most characters of an error for the model."""

FETCH_BYTES = 2 * KIB * KIB
"""Most bytes of a web page that are loaded."""
FETCH_SHOWN = 32 * KIB
"""Most bytes of its text in one result, unless the model asks for another number."""
FETCH_SECONDS = 30
FETCH_CONNECT_SECONDS = 10

GREP_MATCHES = 100
GREP_LINE_CHARACTERS = 500
FIND_RESULTS = 1_000
LS_ENTRIES = 500
DIAGNOSTICS = 200
IMAGE_PIXELS = 2_000
PARALLEL_TOOLS = 10
DEFERRED_THRESHOLD = 15

PREVIEWS_PER_CALL = 3
"""How often a call is previewed if its files keep changing."""

MAX_ROUNDS = 100
"""Requests of one turn before the user is asked whether to go on."""

UNRESOLVED_REPLIES = 3
"""Replies in a row that may ignore a pending preview; the last one ends the turn."""
