"""Merges the schemas and built-in workflows of two clones: both are written by git nexus, so neither is kept beside."""

from collections.abc import Sequence

from gitnexus.state.join import MergeContext, MergedFiles


def merge_generated_files(meeting: MergeContext, paths: Sequence[str]) -> MergedFiles:
    """Return theirs where only they changed a file, else ours: `git nexus init` writes those of its version anyway."""
    done = MergedFiles()
    for path in paths:
        row = meeting.rows[path]
        if row.mine == row.base and row.theirs != row.base:
            done.files[path] = meeting.blob(row.theirs)
    return done
