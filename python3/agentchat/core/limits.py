"""Every limit of the tools and the queue, named once; sizes in bytes, times in seconds."""

from __future__ import annotations

KIB = 1024

READ_LINES = 2_000
READ_BYTES = 256 * KIB
BASH_SECONDS = 120
BASH_BYTES = 512 * KIB
RESULT_BYTES = 64 * KIB
"""A larger result reaches the model as its head and tail, half of this each."""

LONGEST_ERROR = 60 * KIB
"""Characters of an error that the model is told, whoever raised it."""

GREP_MATCHES = 100
GREP_LINE_CHARACTERS = 500
FIND_RESULTS = 1_000
LS_ENTRIES = 500
DIAGNOSTICS = 200
IMAGE_PIXELS = 2_000
PARALLEL_TOOLS = 10
DEFERRED_THRESHOLD = 15
SHOWN_LINES = 10
"""Lines of a result that the chat shows before the fold."""

PREVIEWS_PER_CALL = 3
"""How often a call whose text keeps moving is previewed again before it is given up."""

MAX_ROUNDS = 100
"""Requests of one turn before the user is asked whether to go on."""

UNRESOLVED_REPLIES = 3
"""How many replies in a row may ignore a pending preview before the turn ends."""
