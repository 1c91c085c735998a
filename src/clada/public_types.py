"""Types for annotations: the texts that a field can have, the options of a run, and callbacks.

Clada itself imports this only for type checkers, because `typing` would double its start-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

Status: TypeAlias = Literal["success", "planned", "error", "skipped", "rolled_back"]
BlockStatus: TypeAlias = Literal["success", "planned", "failed"]
ErrorType: TypeAlias = Literal[
    "match_count_mismatch", "search_not_found", "file_not_found", "permission_denied", "symlink_not_allowed",
    "path_escape", "exec_timeout", "exec_failed", "command_not_allowed", "malformed_xml", "malformed_csl",
    "malformed_json", "malformed_toml", "malformed_dialect", "unsupported_version", "invalid_operation",
    "invalid_utf8", "input_too_large", "git_operation_failed", "lock_timeout", "io_error",
]  # fmt: skip
NotationName: TypeAlias = Literal[
    "csl", "cml", "json", "toml", "sr", "v4a", "udiff", "calls", "tags", "artifact", "nesl", "whole",
    "heredoc",
]  # fmt: skip
Format: TypeAlias = NotationName | Literal["auto"]
Answer: TypeAlias = Literal["once", "always", "no", "never", "once+network", "always+network"]
RecordMode: TypeAlias = Literal["auto", "commits", "snapshots", "none"]
MatchMode: TypeAlias = Literal["auto", "exact", "blanks"]
MergeMode: TypeAlias = Literal["auto", "off", "seen", "history"]
ShellMode: TypeAlias = Literal["never", "approved"]
SandboxMode: TypeAlias = Literal["auto", "off", "require"]
SyntaxMode: TypeAlias = Literal["note", "refuse", "off"]
SchemaName: TypeAlias = Literal["plan", "report", "event", "batch-job", "batch-result"]
Changes: TypeAlias = tuple[tuple[str, bytes | None, bytes | None], ...]  # path, content before and after
# The same for modes as git writes them: 100644, 100755 for a program, 040755 for a directory.
Modes: TypeAlias = tuple[tuple[str, str | None, str | None], ...]


class Ask(Protocol):
    """Asks a person about a command."""

    def __call__(self, command: str, directory: str, reason: str, *, network: bool) -> Answer | None:
        """Return the answer; None without a person to ask."""


class RunOptions(TypedDict, total=False):
    """The settings of a run but for its workspace, as keyword arguments."""

    format: Format
    start_delimiter: str
    end_delimiter: str
    root: str | None
    run_fences: bool
    strip_fences: bool | None
    match: MatchMode
    merge: MergeMode
    git: bool
    record: RecordMode
    git_author: str
    message: str | None
    commit_all: bool
    repository: str | PathLike[str] | None
    uncommitted: Sequence[str]
    durable: bool
    snapshot_limit: int
    history_size: int
    history_age: float
    allow_escape: bool
    allow_autorun: bool
    timeout: float
    total_timeout: float | None
    max_output: int
    max_files: int
    max_bytes: int
    lock_file: str | PathLike[str] | None
    lock_timeout: float
    dry_run: bool
    syntax: SyntaxMode
    atomic: bool
    verify: Sequence[str]
    after_edit: Mapping[str, str]
    verify_strict: bool
    again: bool
    final_newline: bool | None
    approve: Sequence[str]
    approve_all: bool
    shell: ShellMode
    sandbox: SandboxMode
    sandbox_write: Sequence[str]
    sandbox_read: Sequence[str]
    sandbox_env_hide: Sequence[str]
    sandbox_env_keep: Sequence[str]
    reveal: Sequence[str]


class Options(RunOptions, total=False):
    """The settings of a run, as keyword arguments."""

    workspace: str | PathLike[str]
