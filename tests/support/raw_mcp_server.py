"""An MCP server without the SDK, which misbehaves: ``python raw_mcp_server.py``.

It speaks the older protocol on standard input and output, which begins with a line of noise.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

FLOODS: dict[str, dict[str, Any]] = {
    "log": {"method": "notifications/message", "params": {"level": "info", "data": "x" * 500}},
    "progress": {
        "method": "notifications/progress",
        "params": {"progress": 1, "message": "x" * 500},
    },
    "list": {"method": "notifications/tools/list_changed", "params": {}},
    "unknown": {"method": "notifications/no_such_thing", "params": {"data": "x" * 500}},
}
LINES = 400
"""Notifications that are written at once."""

Message = dict[str, Any]


class Refused(Exception):
    """An error to be sent: its code and message."""


def encode(message: Message) -> bytes:
    """Return a message as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def send(message: Message) -> None:
    """Write a message."""
    sys.stdout.buffer.write(encode(message))
    sys.stdout.buffer.flush()


def text(text: str) -> Message:
    """Return the result of a tool."""
    return {"content": [{"type": "text", "text": text}]}


def huge(params: Message) -> Message:
    """Answer with 40 MB."""
    return text("x" * 40_000_000)


def wrong(params: Message) -> Message:
    """Answer against the protocol."""
    return {"content": "no list"}


def flood(params: Message) -> Message:
    """Send notifications of one ``kind`` for some ``megabytes`` or ``seconds``; return how many."""
    arguments = params["arguments"]
    message = FLOODS[arguments["kind"]]
    more = {**message["params"], "progressToken": _token(params)}
    chunk = encode({**message, "params": more}) * LINES
    size, most = 0, int(arguments["megabytes"] * 1e6)
    end = time.monotonic() + arguments.get("seconds", 60)
    while size < most and time.monotonic() < end:
        size += sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
    return text(f"sent {size // 1_000_000} MB")


def die(params: Message) -> Message:
    """End the process in the middle of the call; a negative ``code`` is a signal."""
    code = params["arguments"]["code"]
    sys.stderr.write("about to die\n")
    sys.stderr.flush()
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def refuse(params: Message) -> Message:
    """Answer with an error whose code the SDK uses for a connection that is closed."""
    raise Refused(-32000, "no such row")


ANSWERS: list[Message] = []
"""What the client answered to the server's own requests."""
FOLLOW_UP: list[Message] = []
"""What is sent right after the result of the current call."""


def ask_late(params: Message) -> Message:
    """Answer, and ask the user something only then."""
    form = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
    asked = {"message": "Which size?", "requestedSchema": form}
    FOLLOW_UP.append({"id": "late", "method": "elicitation/create", "params": asked})
    send(FLOODS["list"])
    return text("done")


def answered(params: Message) -> Message:
    """Return what the client answered last."""
    return text(json.dumps(ANSWERS[-1:]))


def pid(params: Message) -> Message:
    """Report progress and answer with the process id."""
    progress = {"progressToken": _token(params), "progress": 1, "total": 2, "message": "half way"}
    send({"method": "notifications/progress", "params": progress})
    return text(str(os.getpid()))


def _token(params: Message) -> Any:
    return (params.get("_meta") or {}).get("progressToken")


TOOLS: dict[str, Callable[[Message], Message | None]] = {
    "huge": huge,
    "wrong": wrong,
    "flood": flood,
    "never": lambda params: None,
    "die": die,
    "refuse": refuse,
    "ask_late": ask_late,
    "answered": answered,
    "pid": pid,
}


def answer(method: str, params: Message) -> Message | None:
    """Return the result of a request; ``None`` for no answer. Raises Refused."""
    if method == "initialize":
        able = {"tools": {"listChanged": True}}
        about = {"name": "raw", "version": "1"}
        version = os.environ.get("PROTOCOL", "2025-06-18")
        return {"protocolVersion": version, "capabilities": able, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        return TOOLS[params["name"]](params)
    raise Refused(-32601, "unknown method")


def main() -> None:
    """Serve until standard input ends."""
    sys.stdout.write("welcome to the noise\n")
    sys.stdout.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            ANSWERS.append(message)
        if "id" not in message or "method" not in message:
            continue
        try:
            result = answer(message["method"], message.get("params") or {})
        except Refused as refused:
            code, text = refused.args
            send({"id": message["id"], "error": {"code": code, "message": text}})
        else:
            if result is not None:
                send({"id": message["id"], "result": result})
            while FOLLOW_UP:
                send(FOLLOW_UP.pop())


if __name__ == "__main__":
    main()
