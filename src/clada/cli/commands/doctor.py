"""`clada doctor`: checks what this machine and workspace offer, and says how to get what is missing."""

from __future__ import annotations

import os
import sys
from shutil import which

from clada import config
from clada.cli.commands.apply import terminal_is_available
from clada.errors import CladaError, UsageError
from clada.exit_codes import DONE, FAILED
from clada.settings import DEFAULTS
from clada.text.escape import escape_controls
from clada.values import Value, fields_of
from clada.version import VERSION
from clada.world import trust
from clada.world.approvals import Approvals
from clada.world.files.directories import check_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clada.cli.console import Console

OK, NOTE, BROKEN = "ok", "note", "broken"


class Finding(Value):
    """The result of one check: its state, a description, and a remedy."""

    state: str
    text: str
    remedy: str | None = None


def doctor(given: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Check all that a run needs and print the findings; return 1 if a run would not work."""
    settings, configuration = _read_configuration(given)
    python = ".".join(map(str, sys.version_info[:3]))
    findings = {
        "clada": Finding(OK, f"{VERSION}, with Python {python} on {sys.platform}"),
        "workspace": _check_workspace(settings),
    }
    if findings["workspace"].state == OK:
        for name, check in CHECKS.items():
            try:
                findings[name] = check(settings)
            except CladaError as trouble:
                findings[name] = Finding(BROKEN, trouble.error.message, trouble.error.hint)
    findings |= {"configuration": configuration, "terminal": _check_terminal()}
    broken = any(finding.state == BROKEN for finding in findings.values())
    if given.get("json"):
        found = {name: fields_of(finding) for name, finding in findings.items()}
        console.write_json(found)
        return FAILED if broken else DONE
    for name, finding in findings.items():
        console.write(f"{finding.state:<6}  {name:<13}  {escape_controls(finding.text)}\n")
        if finding.remedy:
            console.write(f"{'':<23}→ {escape_controls(finding.remedy)}\n")
    return FAILED if broken else DONE


def _read_configuration(given: dict[str, Any]) -> tuple[dict[str, Any], Finding]:
    """Return the settings, and the finding about the configuration files."""
    try:
        found = config.load(given.get("workspace"))
    except UsageError as error:
        return {**DEFAULTS, **given}, Finding(BROKEN, str(error))
    variables = f", {len(found.environment)} in the environment" if found.environment else ""
    shared = f"{len(found.workspace)} in {config.FOLDER}/{config.FILE}"
    counts = f"{len(found.user)} set in {config.user_file()}, {shared}"
    settings = {**DEFAULTS, **found.merged, **given}
    settings["workspace"] = config.find_workspace(settings["workspace"])
    return settings, Finding(OK, counts + variables)


def _check_trust(settings: dict[str, Any]) -> Finding:
    if trust.everywhere():
        return Finding(NOTE, f"every workspace is trusted: {trust.EVERYWHERE} is 1")
    files = trust.clada_files(settings["workspace"])
    untrusted = [file.path for file in files if not file.trusted]
    if untrusted:
        return Finding(NOTE, f"not trusted, so ignored: {' and '.join(untrusted)}", trust.HOW)
    return Finding(OK, f"{trust.FOLDER} is trusted" if files else f"there is no {trust.FOLDER}")


def _check_workspace(settings: dict[str, Any]) -> Finding:
    try:
        check_workspace(settings["workspace"])
    except CladaError as trouble:
        return Finding(BROKEN, trouble.error.message, "name another one with --workspace")
    path = os.path.realpath(settings["workspace"])
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Finding(BROKEN, f"{path} cannot be written", "give yourself that permission")
    return Finding(OK, path)


def _check_git(settings: dict[str, Any]) -> Finding:
    from clada.world.git.git import run
    from clada.world.git.harden import environment, path_directories

    root = os.path.realpath(settings["workspace"])
    for directory in path_directories(os.environ, root):
        program = os.path.join(directory, "git")
        if os.path.isfile(program) and os.access(program, os.X_OK):
            answer = run([program, "--version"], environment(os.environ, root))
            return Finding(OK, f"{answer.output.decode(errors='replace').strip()}, {program}")
    state = NOTE if settings["record"] == "none" else BROKEN
    return Finding(state, "not installed, or not on the PATH", "install git, or use --no-git")


def _check_repository(settings: dict[str, Any]) -> Finding:
    from clada.world.git import index, repository

    if settings["record"] == "none":
        return Finding(NOTE, "runs are not recorded: record is none", "with snapshots, clada undo works")
    with repository.suggest_no_git():
        try:
            found = repository.find(settings["workspace"])
        except repository.NoRepositoryError as trouble:
            if settings["record"] == "commits":
                raise
            return Finding(NOTE, f"{trouble.error.message}: runs are recorded by snapshots", "git init")
        index.check(found, dry=True)
    below = f", for {found.prefix} in it" if found.prefix else ""
    return Finding(OK, f"runs are recorded in {found.root}{below}")


def _check_sandbox(settings: dict[str, Any]) -> Finding:
    from clada.world.sandbox.layers import available

    if settings["sandbox"] == "off":
        return Finding(NOTE, "off: approved commands run with all your rights", "set sandbox to auto")
    layer = available()
    if layer == "bubblewrap":
        return Finding(OK, "bubblewrap: approved commands write only the workspace, without the network")
    if layer == "namespace":
        text = "namespaces: approved commands write only the workspace, without the network"
        return Finding(OK, text)
    if layer == "landlock":
        text = "Landlock alone: approved commands write only the workspace; changes of .git are put back"
        return Finding(NOTE, text, _sandbox_remedy())
    state = BROKEN if settings["sandbox"] == "require" else NOTE
    return Finding(state, "none: approved commands run unsandboxed", _sandbox_remedy())


def _check_readers(settings: dict[str, Any]) -> Finding:
    from clada.world.sandbox.landlock import has_landlock

    if settings["sandbox"] == "off":
        return Finding(NOTE, "not confined: the sandbox is off", "set sandbox to auto")
    if has_landlock():
        if reason := _git_is_not_confined(settings["workspace"]):
            return Finding(NOTE, f"Landlock: they reach the workspace and the system only; {reason}")
        return Finding(OK, "Landlock: they and git reach the workspace, the repository and the system only")
    return Finding(
        NOTE, "not confined: they and git read what you can read", "use a Linux kernel with Landlock"
    )


def _git_is_not_confined(workspace: str) -> str | None:
    """Return why git is not always confined; None if it is, or if there is no git."""
    from clada.world.git.harden import why_unconfined
    from clada.world.git.repository import git_program

    try:
        return why_unconfined(git_program(os.path.realpath(workspace)))
    except CladaError:
        return None


def _sandbox_remedy() -> str:
    """Return how to get the best sandbox."""
    if sys.platform != "linux":
        return "run clada in a container or on Linux to have commands confined"
    from clada.world.sandbox.layers import FORCED

    if os.environ.get(FORCED):
        return f"{FORCED} asks for this layer"
    if which("bwrap"):
        return "bwrap is installed and does not work here: it needs user namespaces, which may be turned off"
    return "install bubblewrap (the package bubblewrap): with it, .git cannot be changed at all"


def _check_approvals(settings: dict[str, Any]) -> Finding:
    known = Approvals.load(settings["workspace"])
    approved = len(known.approved)
    return Finding(OK, f"{approved} approved, {len(known.blocked)} blocked; clada approvals list")


def _check_terminal() -> Finding:
    if not terminal_is_available():
        return Finding(NOTE, "none: no questions can be asked", 'clada approvals add "npm test"')
    color = "without colour: NO_COLOR is set" if os.environ.get("NO_COLOR") else "in colour"
    return Finding(OK, f"questions can be asked; output {color}")


# A check that raises CladaError has found that.
CHECKS: dict[str, Callable[[dict[str, Any]], Finding]] = {
    "git": _check_git,
    "repository": _check_repository,
    "sandbox": _check_sandbox,
    "readers": _check_readers,
    "approvals": _check_approvals,
    "trust": _check_trust,
}
