"""A tool that changes nothing by itself: it stages a preview, which is applied or discarded."""

from pathlib import Path

from agentchat import Context, Result, ToolError, tool


@tool(require_approval_before=False)
def batch_rename(folder: str, old: str, new: str, ctx: Context) -> str:
    """Rename files: replace a part of the name of every file in a folder.

    Args:
        folder: a folder of the workspace.
        old: the part of the names to replace.
        new: what to put there instead.
    """
    files = sorted(path for path in Path(folder).iterdir() if path.is_file() and old in path.name)
    moves = {path: path.with_name(path.name.replace(old, new)) for path in files}
    taken = [target for target in moves.values() if target.exists()]
    if not old or "/" in new or taken or len(set(moves.values())) < len(moves):
        raise ToolError(f"These names do not work in {folder}. Choose other ones.")
    if not moves:
        return f"No file in {folder} has {old!r} in its name."

    def apply(reason: str, extra: object) -> Result:
        for path, target in moves.items():
            path.rename(target)
        return Result(f"Renamed {len(moves)} files.", details={"files": len(moves)})

    lines = [f"{path} -> {target.name}" for path, target in moves.items()]
    ctx.stage(f"Batch rename: {len(moves)} files", apply, preview="\n".join(lines))
    return "\n".join(lines)
