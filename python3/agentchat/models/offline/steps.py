"""Which plan serves which wish."""

from __future__ import annotations

from agentchat.models.offline import changing, looking
from agentchat.models.offline import wishes as w
from agentchat.models.offline.acts import Steps


def steps(wish: w.Wish) -> Steps:
    """Return the plan for one wish."""
    if isinstance(wish, w.Read):
        return looking.read(wish.path)
    if isinstance(wish, w.Find):
        return looking.find(wish)
    if isinstance(wish, w.Search):
        return looking.search(wish)
    if isinstance(wish, w.Ls):
        return looking.ls(wish.path)
    return _effect(wish)


def _effect(wish: w.Wish) -> Steps:
    if isinstance(wish, w.Replace):
        return changing.replace(wish)
    if isinstance(wish, w.Rename):
        return changing.rename(wish)
    if isinstance(wish, w.Run):
        return changing.run(wish.command)
    if isinstance(wish, w.Write):
        return changing.write(wish)
    if isinstance(wish, w.Delete):
        return changing.delete(wish.path)
    if isinstance(wish, w.Resolve):
        return changing.resolve(wish)
    raise TypeError(f"no plan for {wish!r}")
