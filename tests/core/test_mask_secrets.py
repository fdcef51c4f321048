"""Keys in results: masked where they carry a mark, left alone where they only look like it."""

from __future__ import annotations

import time

import pytest

from agentchat.core.text import mask_secrets

RUN = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (f"sk-proj-{RUN}", "API key"),
        ("sk-" + "0123456789abcdef" * 2, "API key"),
        (f"sk-ant-api03-{RUN}-x_y", "API key"),
        (f"ghp_{RUN[:36]}", "GitHub token"),
        (f"github_pat_{RUN}_{RUN}", "GitHub token"),
        (f"glpat-{RUN[:20]}", "GitLab token"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "AWS key"),
        ("xoxb-" + "123456789012-abcdefGHIJKL", "Slack token"),
        ("AIza" + RUN[:35], "Google key"),
        ("npm_" + RUN[:36], "npm token"),
        ("hf_" + RUN, "Hugging Face token"),
        (f"eyJ{RUN}.eyJ{RUN}.{RUN}", "JSON web token"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "KEY={}\n", 'key: "{}",', "a {} b", "https://u:{}@h"])
def test_a_token_is_masked_wherever_it_stands(token: str, kind: str, around: str) -> None:
    assert mask_secrets(around.format(token)) == around.format(f"[masked: {kind}]")


def test_a_private_key_is_masked_whole_even_if_it_is_cut_off() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n-----END OPENSSH PRIVATE KEY-----"
    assert mask_secrets(f"a\n{key}\nb") == "a\n[masked: private key]\nb"
    assert mask_secrets(f"a\n{key[:60]}") == "a\n[masked: private key]"


@pytest.mark.parametrize(
    "text",
    [
        "sk-loading-indicator-wrapper-2-large",
        "class='task-list-item-checkbox-2'",
        "risk-" + RUN,
        "AKIA is a prefix",
        "xox is not",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_only_looks_like_one_is_left(text: str) -> None:
    assert mask_secrets(text) == text


def test_a_large_text_is_searched_in_a_moment() -> None:
    text = ("sk-" + "a-" * 50 + " eyJ" + "a" * 50 + ". -----BEGIN PRIVATE ") * 1500
    began = time.perf_counter()
    mask_secrets(text)
    assert time.perf_counter() - began < 1
