"""Flags that look like more than they are: with these values they are a program's ordinary work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_ORDINARY: Mapping[str, str] = {
    "cargo": r"--target[= ][a-z0-9_]+(?:-[a-z0-9_]+)+",
    "cmake": r"-D(?:CMAKE_BUILD_TYPE|CMAKE_CXX_STANDARD|CMAKE_C_STANDARD)(?::STRING)?=\w+"
    r"|-D[A-Z]\w*(?::BOOL)?=(?:ON|OFF|TRUE|FALSE|YES|NO|[01])",
    "ctest": r"--output-on-failure|--rerun-failed",
    "curl": r"-[fgikLsSv]*o /dev/null|--output[= ]/dev/null"
    r"|(?:-[fgikLsSv]*w|--write-out) (?:[^%@\\]|\\n)*(?:%\{(?!output)\w+\}(?:[^%@\\]|\\n)*)*",
    "docker inspect": r"-f .+",
    "docker rm": r"-[fv]+",
    "docker images": r"(?:-f|--filter) \S+|--filter=\S+",
    "docker logs": r"-f|-[ft]+",
    "docker ps": r"(?:-f|--filter) \S+|--filter=\S+",
    "dotnet build": r"(?:-c|--configuration) (?:Debug|Release)",
    "dotnet test": r"(?:-c|--configuration) (?:Debug|Release)|--filter \S+",
    "eslint": r"-f (?:json|compact|stylish|unix)|--report-unused-disable-directives",
    "git": r"--output-indicator-(?:new|old|context)=.",
    "go": r"--?cover|--?vet=\w+|--?covermode=\w+|--?coverpkg=[\w./,-]+",
    "gradle": r"-x [\w:]+",
    "gradlew": r"-x [\w:]+",
    "isort": r"-c|--profile[= ]\w+",
    "jest": r"--runInBand|-i|--testPathPatterns?[= ]\S+|--collectCoverage",
    "kubectl get": r"(?:-o[= ]?|--output[= ])(?:wide|yaml|json|name|jsonpath=.*|custom-columns=.*)"
    r"|(?:-l|--selector) \S+|--field-selector[= ]\S+|-[Aw]+",
    "kubectl logs": r"-f|(?:-c|-l|--container|--selector) \S+",
    "make": r"(?:V|VERBOSE|DEBUG|JOBS)=\d+",
    "mvn": r"-D(?:skipTests|skipITs|maven\.test\.skip)(?:=true)?|-Dtest=[\w.#*,+]+",
    "ping": r"-[cIiWw] [\w.]+",
    "pre-commit run": r"--all-files",
    "pnpm add": r"-D",
    "prettier": r"-c",
    "pylint": r"-E",
    "pytest": r"--cov(?:=[\w./-]*)?|--cov-report[= ]term(?:-missing)?(?::skip-covered)?"
    r"|--cov-report=|--co|--pdb|-p ?no:\w+",
    "terraform": r"-(?:check|diff|recursive|json|no-color|detailed-exitcode)"
    r"|-(?:input|lock|refresh)=\w+",
    "uniq": r"-[fsw] \d+",
    "vitest": r"--run",
    "wget": r"-q?O ?(?:-|/dev/null)|--output-document[= ](?:-|/dev/null)",
    "yarn add": r"-D",
    "xxd": r"-(?:l|len|s|seek|c|cols|g|groupsize) [+-]?(?:0x)?[\da-fA-F]+",
}
_ANYWHERE = re.compile(
    r"--no-[a-z-]+|--dry-run|--frozen-lockfile|--immutable|--installed|--preview|--timeout(?:=\w+)?"
)
"""What no program takes as an order to run or write something: it does less with them."""


def without_ordinary(words: Sequence[str], lead: int) -> Iterator[str]:
    """Yield the words behind a rule's own, except for options known as ordinary, with values."""
    name = words[0].rpartition("/")[2]
    known = _known(name, words[1] if len(words) > 1 else "")
    rest = list(words[lead:])
    while rest:
        word = rest.pop(0)
        if known.fullmatch(word) or (word.startswith("-") and _ANYWHERE.fullmatch(word)):
            continue
        if rest and word.startswith("-") and known.fullmatch(f"{word} {rest[0]}"):
            rest.pop(0)
            continue
        yield word


def _known(name: str, command: str) -> re.Pattern[str]:
    said = (_ORDINARY.get(name), _ORDINARY.get(f"{name} {command}"))
    return re.compile("|".join(text for text in said if text) or "(?!)", re.DOTALL)
