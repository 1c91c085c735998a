"""Error types, problems in a document, errors of tasks, and the exceptions that carry them."""

from __future__ import annotations

import errno

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.public_types import ErrorType

# The error types of the specification; docs/errors.md has the cause and the remedy of each.
ERROR_TYPES = tuple(
    """
    match_count_mismatch search_not_found file_not_found permission_denied symlink_not_allowed path_escape
    exec_timeout exec_failed command_not_allowed malformed_xml malformed_csl malformed_json malformed_toml
    malformed_dialect unsupported_version invalid_operation invalid_utf8 input_too_large git_operation_failed
    lock_timeout io_error
    """.split()
)


class Problem(Value):
    """A problem in a document. A plan has at most one fatal problem."""

    type: ErrorType
    message: str
    line: int | None = None
    column: int | None = None
    operation: str | None = None
    field: str | None = None
    block_line: int | None = None


class Error(Value):
    """Why a task or a whole run failed. The message is the specified text, the hint a remedy."""

    type: ErrorType
    message: str
    hint: str | None = None
    remedy: tuple[str, ...] = ()  # command lines that help, to be shown and copied line by line
    found: int | None = None
    expected: int | str | None = None
    lines: tuple[int, ...] = ()
    nearest: Nearest | None = None
    searched: str | None = None  # the text that an edit did not find as often as expected
    repairs: tuple[str, ...] = ()  # corrected blocks, of which one is to be sent instead
    details: str | None = None  # several lines, for --error-detail=full
    traceback: str | None = None  # of a bug, for --error-detail=debug
    stage: str | None = None  # of a run that could not begin, if the type does not tell: LOCK, WORKSPACE

    @property
    def sentence(self) -> str:
        """The message, with its hint behind it, in one line."""
        return "; ".join([self.message, *(self.hint.split("\n") if self.hint else ())])

    @property
    def advice(self) -> list[str]:
        """What to do, line by line."""
        return [*(self.hint.split("\n") if self.hint else ()), *self.remedy]


class Nearest(Value):
    """The lines of a file that are closest to a search text that was not found."""

    first_line: int
    last_line: int
    differing_line: int  # the first that differs
    wanted: str | None  # the line of the search text; None if only the file has this line
    found: str | None  # the line of the file; None if it is missing there
    difference: str
    form_only: bool = False  # the only difference, and one of blanks, quotes or the like
    others: tuple[tuple[int, int], ...] = ()  # line ranges that are just as close


class CladaError(Exception):
    """An expected failure. The engine turns it into the outcome of a task, with its `error`.

    `system` is the operating system's message, if that refused rather than a rule of clada's.
    """

    def __init__(
        self,
        type_: ErrorType,
        message: str,
        hint: str | None = None,
        *,
        remedy: tuple[str, ...] = (),
        system: str | None = None,
    ) -> None:
        super().__init__(message)
        self.error = Error(type_, message, hint, remedy)
        self.system = system

    @classmethod
    def of(cls, error: Error) -> CladaError:
        """Return an exception that carries this error."""
        raised = cls(error.type, error.message)
        raised.error = error
        return raised


class UsageError(ValueError):
    """A command line, configuration file or call is not valid. Nothing was executed.

    `remedy` is what to write instead, ready to copy.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


def unforeseen(bug: Exception) -> Error:
    """Return the error for an exception that no code handled: a system error, or a bug in clada."""
    if isinstance(bug, MemoryError):
        return OUT_OF_MEMORY
    trace = _format_traceback(bug)
    if isinstance(bug, OSError):
        return Error("io_error", system_words(bug), traceback=trace)
    if isinstance(bug, UnicodeEncodeError) and bug.encoding != "utf-8":
        hint = "start it with python -X utf8"
        return Error("io_error", f"this Python cannot name it in {bug.encoding}", hint)
    message = f"internal error: {type(bug).__name__}: {bug}"
    hint = "this is a bug in clada: --error-detail=debug shows where"
    return Error("io_error", message, hint, traceback=trace)


def _format_traceback(bug: Exception) -> str | None:
    """Return the traceback of a bug; None if memory or file handles do not suffice for it."""
    try:
        import traceback

        return "".join(traceback.format_exception(bug))
    except (OSError, MemoryError, ImportError):
        return None


OUT_OF_MEMORY = Error("io_error", "out of memory")  # created while there is memory


def system_words(error: OSError | MemoryError) -> str:
    """Return the operating system's message, with the file name."""
    if isinstance(error, MemoryError):
        return "out of memory"
    where = f": {error.filename}" if error.filename is not None else ""
    return f"{error.strerror or error}{where}"


def reason(error: OSError) -> str:
    """Return why the system refused, in its own words, as part of a sentence."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]


# System errors that mean that a file is not to be touched, rather than that something broke.
DENIED = frozenset(
    (
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.EEXIST,
        errno.ENXIO,  # a socket or a FIFO, opened as a file
    )
)


def from_os_error(error: OSError, path: str = "") -> CladaError:
    """Return the typed error for a system error; `path` names the file where it is not the task's target."""
    if error.errno == errno.ELOOP:
        return CladaError(
            "symlink_not_allowed", f"{path} is a symbolic link" if path else "is a symbolic link"
        )
    words, system = reason(error), error.strerror or str(error)
    if error.errno == errno.ENOENT:
        return CladaError("file_not_found", f"{words}: {path}" if path else words, system=system)
    if error.errno == errno.EXDEV:
        hint = "write it there, and remove it here"
        return CladaError("io_error", "the target is on another file system", hint, system=system)
    type_: ErrorType = "permission_denied" if error.errno in DENIED else "io_error"
    return CladaError(type_, f"{path}: {words}" if path else words, system=system)


LONGEST_QUOTED = 60  # characters of the document in a message


def shortened(text: str) -> str:
    """Return a text of the document, short enough to be quoted in a message."""
    return text if len(text) <= LONGEST_QUOTED else text[: LONGEST_QUOTED - 1] + "…"


def cut_off(complete: int) -> str:
    """Return the clause that ends the message about a truncated answer."""
    return f"; {complete} complete operation{'' if complete == 1 else 's'} came before it"


def too_large() -> Problem:
    """Return the problem of a document past the limit."""
    return Problem("input_too_large", "The document is larger than 50 MB (52,428,800 bytes): split it")


def invalid_utf8(offset: int) -> Problem:
    """Return the problem of a document that is not UTF-8."""
    return Problem("invalid_utf8", f"Invalid UTF-8 at byte offset {offset}")
