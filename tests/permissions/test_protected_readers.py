"""What anything here reads instructions from is protected: one list for readers and gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.agent.permissions import rule_store
from agentchat.agent.prompts import command_files, rules_files, skills
from agentchat.core.permissions.sensitive_paths import is_protected
from agentchat.tools.custom.declaration import files
from agentchat.tools.mcp import config

READ = (
    *command_files.PROJECT_FOLDERS,
    *skills.PROJECT_FOLDERS,
    *skills.USER_FOLDERS,
    *rules_files.NAMES,
    *config.PROJECT_FILES,
    rule_store.PROJECT_FILE,
    files.PROJECT_FOLDER,
)
"""The constants of all modules that read instructions or programs of a project."""

OF_OTHERS = """
.github/workflows/ci.yml .github/actions/x/action.yml .github/copilot-instructions.md .circleci/x
.gitlab-ci.yml Jenkinsfile .travis.yml azure-pipelines.yml bitbucket-pipelines.yml .drone.yml
.devcontainer.json .devcontainer/devcontainer.json .opencode/command/x.md .opencode/agent/x.md
.agents/skills/x/SKILL.md .claude/agents/x.md .cursor/rules/x.mdc .windsurf/rules/x .clinerules/x
opencode.json AGENTS.md docs/CLAUDE.md x/GEMINI.md .vscode/tasks.json .husky/pre-commit
x.code-workspace .cargo/config.toml .kiro/steering/x.md .junie/guidelines.md
"""


@pytest.mark.parametrize("path", [*map(str, READ), *OF_OTHERS.split()])
def test_instructions_are_protected_with_all_that_is_below(path: str) -> None:
    parts = Path(path).parts
    for name in (parts, ("sub", *parts), tuple(part.upper() for part in parts)):
        assert is_protected(name)
        if not Path(path).suffix:
            assert is_protected((*name, "x", "SKILL.md"))


@pytest.mark.parametrize("path", [*map(str, READ), *OF_OTHERS.split()])
def test_a_part_that_is_moved_to_its_place_is_protected_before_or_there(path: str) -> None:
    # So it does not matter into which folder a program puts the names that it copies.
    parts = Path(path).parts
    assert any(is_protected((part,)) for part in parts)


@pytest.mark.parametrize(
    "path", ["src/a.py", "README.md", "docs/agents.rst", "skills/x", "commands/x.md"]
)
def test_ordinary_files_are_not(path: str) -> None:
    assert not is_protected(Path(path).parts)
