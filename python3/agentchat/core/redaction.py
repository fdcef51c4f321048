"""Keys and tokens in what a tool returns: masked, visibly, before a model reads them.

Only what carries its own mark is known: prefixes that services give their tokens, and blocks of
private keys.
"""

from __future__ import annotations

import re

_TOKENS = {
    "GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}",
    "GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    "AWS key": r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])",
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
    "Google key": r"AIza[0-9A-Za-z_-]{35}",
    "Stripe key": r"[sr]k_live_[A-Za-z0-9]{20,}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": r"pypi-[A-Za-z0-9_-]{50,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "SendGrid key": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    # Words joined by hyphens look alike: a key has a long run of letters and digits.
    "API key": r"sk-(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z0-9]{16})[A-Za-z0-9_-]{20,}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_NAMES = list(_TOKENS)
_TOKEN = re.compile("(?<![A-Za-z0-9])(?:" + "|".join(f"({p})" for p in _TOKENS.values()) + ")")


def masked(text: str) -> str:
    """Return a text in which every key that is known by its mark reads ``[masked: KIND]``."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub("[masked: private key]", text)
    return _TOKEN.sub(lambda found: f"[masked: {_NAMES[(found.lastindex or 1) - 1]}]", text)
