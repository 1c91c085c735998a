"""Decide whether a command is built in, allowed, needs approval or is refused.

A command that is not in the table of programs needs approval.
"""

from __future__ import annotations

from clada.commands.arguments import DASHES, Argument, arguments
from clada.commands.judgements import (
    Allowed,
    BuiltIn,
    NeedsApproval,
    Piped,
    Refused,
    unknown,
)
from clada.commands.kinds import is_magic, is_mode, paths_of
from clada.commands.programs import ALLOWED, BUILT_IN, ProgramRule
from clada.commands.words import Pipeline, Refusal, pipe_refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.commands.judgements import Judgement

__all__ = ["Allowed", "BuiltIn", "NeedsApproval", "Refused", "judge"]

_NO_MAGIC = "needs git to guess what is meant: name the paths themselves, with ./ before one that starts so"
_GITS_OWN = ("REVISION*", "PATHSPEC*")  # operands whose meaning depends on the repository
_FILTERS = ("cat", "grep", "head", "tail")  # programs that show a part of their input
_PLAIN_DASH = ("PATTERN", "TEXT")  # kinds of operands in which `-` is a plain text


def judge(words: Sequence[str], *, piped: bool = False) -> Judgement:
    """Decide about a command, given as its words; `piped`: it reads the output of another one."""
    if not words or not words[0]:
        return Refused("command_not_allowed", "the command is blank: name a program")
    name, rest = _row_of(list(words))
    row = BUILT_IN.get(name) or ALLOWED.get(name)
    if row is None:
        return NeedsApproval(f"`{name}` is not among the commands that run without asking", is_unlisted=True)
    if name.startswith("git ") and "--help" in rest:
        return NeedsApproval("`--help` opens a manual page")
    given: list[Argument] = []
    for part in arguments(name, row, rest):
        if not isinstance(part, Argument):
            return part
        given.append(part)
    return _judgement(name, row, given, piped=piped)


def judge_pipeline(pipeline: Pipeline) -> Piped | Refusal:
    """Decide about a pipeline: all its commands must be readers."""
    parts: list[Allowed] = []
    for at, command in enumerate(pipeline.commands):
        judged = judge(command.words, piped=at > 0)
        if not isinstance(judged, Allowed) or judged.whole_repository:
            return _refuse_pipeline(pipeline, at, judged)
        parts.append(judged)
    return Piped(tuple(parts))


def _refuse_pipeline(pipeline: Pipeline, at: int, judged: Judgement) -> Refusal:
    """Return why a pipeline is refused: which command is the cause, and what can be left out."""
    command, *rest = pipeline.commands[at:]
    name, _arguments = _row_of(list(command.words))
    if isinstance(judged, NeedsApproval) and name in ALLOWED:
        return pipe_refusal(f" here ({judged.reason})")
    if at == 0 and all(each.words[0] in _FILTERS for each in rest):
        filters = pipeline.text[len(command.text) :].lstrip(" \t").removeprefix("2>&1").lstrip(" \t")
        return pipe_refusal(f" behind `{name}`", f"leave out `{filters}`: all that `{name}` prints is shown")
    return pipe_refusal(f" here ({name} is not a reader)")


def _row_of(words: list[str]) -> tuple[str, list[str]]:
    """Return the name of a command in the table, and its further words."""
    if words[0] == "git":
        while words[1:2] == ["--no-pager"]:
            del words[1]
        if words[1:] == ["stash"] or (words[1:2] == ["stash"] and words[2].startswith("-")):
            words.insert(2, "push")
    length = 1 if words[0] != "git" else 3 if words[1:2] == ["stash"] else 2
    # `'git log'` as one word is not a command of git.
    name = " ".join(f"'{word}'" if " " in word else word for word in words[:length])
    return name, words[length:]


def _judgement(name: str, row: ProgramRule, given: list[Argument], *, piped: bool) -> Judgement:
    """Check all values and operands, and return the decision."""
    paths: list[str] = []
    for part, kind in _kinds(row, given):
        value = part.value or ""
        found = paths_of(kind, value) if kind else None
        if kind == "MODE" and not is_mode(value):
            return Refused("exec_failed", f"{name}: invalid mode: '{value}'")
        if value == "-" and part.option is None and kind not in _PLAIN_DASH:
            return NeedsApproval("`-` stands for standard input, which is empty")
        if found is None and kind and is_magic(kind, value):
            return NeedsApproval(f"`{value}` {_NO_MAGIC}")
        if found is None:
            return unknown(name, part.shown)
        paths.extend(found)
    operands = _operands(given)
    missing = _missing(name, row, given, paths, piped=piped)
    if missing:
        return missing
    if name in BUILT_IN:
        return BuiltIn(name, _normalise_options(row, given), operands, tuple(paths))
    if row.operands in _GITS_OWN:
        return _git_command(name, row, given, tuple(paths))
    if row.syntax != "getopt":
        argv = (*name.split(), *(word for part in given for word in part.words))
        return Allowed(argv[0], argv, tuple(paths), row.exit_meanings, row.whole_repository)
    argv = _options_first(name, row, given)
    end = len(argv) - len(operands) - bool(operands)
    return Allowed(name, argv, tuple(paths), row.exit_meanings, row.whole_repository, end)


def _git_command(name: str, row: ProgramRule, given: list[Argument], paths: tuple[str, ...]) -> Allowed:
    """Return a command of git with separate operands; those before `--` may be paths or revisions."""
    end = 0 if row.operands != "REVISION*" else given.index(DASHES) if DASHES in given else len(given)
    revisions = _operands(given[:end])
    pathspecs = _operands(given)[len(revisions) :]
    argv = (*name.split(), *(word for part in given if part.option for word in _join(part)))
    found = Allowed(argv[0], argv, paths, row.exit_meanings, row.whole_repository)
    return found.replace(revisions=revisions, pathspecs=pathspecs)


def _join(part: Argument) -> tuple[str, ...]:
    """Return an option with its value as one word: `git diff` could read a separate word as a file."""
    if len(part.words) != 2 or not part.value or part.words[1] != part.value:  # noqa: PLR2004
        return part.words
    option, value = part.words
    return (f"{option}={value}" if option.startswith("--") else f"{option}{value}",)


def _operands(given: list[Argument]) -> tuple[str, ...]:
    return tuple([part.value for part in given if part.option is None and part.value is not None])


def _missing(
    name: str, row: ProgramRule, given: list[Argument], paths: list[str], *, piped: bool
) -> NeedsApproval | None:
    """Return why a command needs approval although each argument is allowed; None if it does not."""
    names, operands = _names(given), _operands(given)
    last_required = row.operands[-1:] not in ("", "?", "*") and not piped
    if last_required and not paths and names.isdisjoint(row.no_file_with.split()):
        return NeedsApproval(f"{name} without a file reads standard input, which is empty")
    if operands and row.operands_need and names.isdisjoint(row.operands_need.split()):
        return NeedsApproval(f"`{operands[0]}` makes {name} change something")
    return None


def _names(given: list[Argument]) -> set[str]:
    """Return the options that are given, by all their names."""
    return {word for part in given if part.option for word in part.option.names}


def _kinds(row: ProgramRule, given: list[Argument]) -> Iterator[tuple[Argument, str | None]]:
    """Pair each value and operand with its kind; None if there is one operand too many."""
    expected = _operand_kinds(row, given)
    dashes = False
    for part in given:
        if part is DASHES:
            dashes = True
        elif part.option is None:
            kind = next(expected, None)
            yield part, "PATHSPEC" if kind == "REVISION" and dashes else kind
        elif part.value is not None:
            yield part, part.option.kind


def _operand_kinds(row: ProgramRule, given: list[Argument]) -> Iterator[str]:
    names = _names(given)
    for item in row.operands.split():
        kind, _slash, replaced_by = item.rstrip("?*+").partition("/")
        if replaced_by not in names:
            yield kind
        while item[-1] in "*+":
            yield kind


def _normalise_options(row: ProgramRule, given: list[Argument]) -> dict[str, str | bool]:
    """Return the options for a built-in command, in the order in which each was last given."""
    options: dict[str, str | bool] = {}
    rivals = row.last_wins.split()
    for part in given:
        if part.option:
            for key in rivals if part.option.key in rivals else (part.option.key,):
                options.pop(key, None)
            options[part.option.key] = True if part.value is None else part.value
    return options


def _options_first(name: str, row: ProgramRule, given: list[Argument]) -> tuple[str, ...]:
    """Pass options, `--`, operands, so that no setting can make the program see an operand as an option."""
    options = [word for part in given if part.option for word in part.words]
    operands = _operands(given)
    dashes = ("--",) if operands else ()
    return (name, *options, *row.always, *dashes, *operands)
