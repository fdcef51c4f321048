"""Stage a preview: the tool changes nothing until the preview is applied."""

from pathlib import Path

from agentchat import Context, Result, ToolError, tool


@tool(require_approval_before=False)
def batch_rename(folder: str, old: str, new: str, ctx: Context) -> str:
    """Rename the files of a directory: replace a part of each name.

    Args:
        folder: a directory of the workspace.
        old: the part of the names to replace.
        new: the replacement.
    """
    files = sorted(path for path in Path(folder).iterdir() if path.is_file() and old in path.name)
    moves = {path: path.with_name(path.name.replace(old, new)) for path in files}
    taken = [target for target in moves.values() if target.exists()]
    if not old or "/" in new or taken or len(set(moves.values())) < len(moves):
        raise ToolError(f"The new names in {folder} are not valid or already exist. Choose others.")
    if not moves:
        return f"No file name in {folder} contains {old!r}."

    def apply(reason: str, extra: object) -> Result:
        for path, target in moves.items():
            path.rename(target)
        return Result(f"Renamed {len(moves)} files.", details={"files": len(moves)})

    lines = [f"{path} -> {target.name}" for path, target in moves.items()]
    ctx.stage(f"Batch rename: {len(moves)} files", apply, preview="\n".join(lines))
    return "\n".join(lines)
