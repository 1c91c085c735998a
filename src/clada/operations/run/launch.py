"""The programs that a run starts: arguments, environment, time limit, confinement; and scans around them."""

from __future__ import annotations

import os

from clada.errors import CladaError, shortened, system_words
from clada.model import Note
from clada.operations.run import operands
from clada.operations.run.permission import sandbox
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.paths import display_path
from clada.world.processes.run import SYSTEM_PATH, Launcher, search_path
from clada.world.secrets.names import excluded_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clada.commands.judgements import Allowed
    from clada.operations.run.permission import Approved
    from clada.world.files.paths import Parts
    from clada.world.git.allowed import Operands
    from clada.world.git.git import Git
    from clada.world.sandbox.landlock import ReadOnly
    from clada.world.sandbox.layers import Confinement
    from clada.world.sandbox.overlay import CommandOverlay
    from clada.world.world import World

READER_SECONDS, READER_OUTPUT = 5.0, 10 << 20  # fixed limits of allowed programs
UNSANDBOXED = "commands run unsandboxed: this machine has neither bubblewrap nor Landlock"
LANDLOCK_ALONE = "commands run under Landlock only: changes to .git are reverted afterwards, not prevented"
STASHED = "undo restores the files, not the stash: see git stash list"
NOT_ALL_SEEN = "the workspace is large: files that look like secrets were looked for in a part of it only"
NOT_SHOWN = "not shown, as they look like secrets: {} (the setting `reveal` opens them)"
# By program: the options that skip files, and directories, of a name.
SKIPPING = {"grep": ("--exclude", "--exclude-dir"), "diff": ("--exclude", "--exclude")}
MOST_EXCLUDED = 500  # names on a command line
NO_MEANINGS: Mapping[int, str] = {}


class Program(Value):
    """A program to start, and its bounds."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    confinement: Confinement | ReadOnly | None
    seconds: float
    path: Sequence[str]  # directories to search for the program
    supervised: bool = True  # it may start other programs, which must not outlive it
    meanings: Mapping[int, str] = NO_MEANINGS  # of exit codes
    late: str = ""  # the message if the time of the whole run is up first

    def within(self, remaining: float | None) -> Program:
        """Return the program with at most the time that is left of the whole run."""
        if remaining is None or remaining >= self.seconds:
            return self
        return self.replace(seconds=max(0.0, remaining), late="total timeout reached")

    @property
    def timeout_message(self) -> str:
        """The message when its time is up."""
        return self.late or f"took longer than {self.seconds:g}s"

    @property
    def layer(self) -> str:
        """The layer that confines it: bubblewrap, namespace (perhaps with an overlay), landlock or none."""
        if self.confinement is None:
            return "none"
        has_overlay = bool(getattr(self.confinement, "overlay", ""))  # a reader has none
        return f"{self.confinement.layer}+overlay" if has_overlay else self.confinement.layer

    def launcher(self) -> Launcher:
        """Return the launcher that starts it, confined or not."""
        if self.confinement is None:
            return Launcher(self.environment, supervised=self.supervised)
        from clada.world.sandbox.landlock import ReadOnly, reader_launcher

        if isinstance(self.confinement, ReadOnly):  # without the modules for commands that write
            return reader_launcher(self.confinement, self.environment)
        from clada.world.sandbox.layers import confined_launcher

        return confined_launcher(self.confinement, self.environment)


def reader_program(world: World, how: Allowed, here: Parts) -> Program:
    """Return an allowed program, which starts no others; git is hardened."""
    if how.program == "git":
        argv, environment, confinement = _git_reader(world, how, here)
    else:
        argv, environment, confinement = _without_secrets(world, how), os.environ, _reader_confinement(world)
    if confinement and not confinement.write:
        files = world.secrets.files
        hidden = tuple(os.path.join(world.files.root, path) for path in (*files.paths, *files.links))
        confinement = confinement.replace(hidden=hidden)
    program = Program(argv, environment, confinement, READER_SECONDS, SYSTEM_PATH)
    return program.replace(supervised=False, meanings=how.exit_meanings)


def _without_secrets(world: World, how: Allowed) -> Sequence[str]:
    """Return the words of a reader, with options to skip secret files in directories.

    The sandbox keeps it from reading them; without these options, it would fail at each.
    """
    options = SKIPPING.get(how.program)
    if not options:
        return how.argv
    files = world.secrets.files
    if not files.whole:
        _note_once(world, NOT_ALL_SEEN)
    given = {path.rpartition("/")[2] for path in how.paths}
    added = [
        f"{option}={_literal(name)}"
        for option, names in zip(options, excluded_names(files), strict=True)
        for name in names[:MOST_EXCLUDED]
        if name not in given
    ]
    return [*how.argv[: how.options_end], *added, *how.argv[how.options_end :]]


def _literal(name: str) -> str:
    """Return a pattern that matches only this name."""
    return "".join(f"\\{char}" if char in "*?[\\" else char for char in name)


def _git_reader(
    world: World, how: Allowed, here: Parts
) -> tuple[Sequence[str], Mapping[str, str], ReadOnly | None]:
    from clada.world.git import repository
    from clada.world.git.allowed import NOTHING, allowed_command, sort_operands
    from clada.world.git.git import hardened_git
    from clada.world.git.harden import FILTERS

    found = repository.find(world.files.root, confined=world.settings.sandbox != "off")
    git = hardened_git(found)
    given = NOTHING
    if how.revisions:
        given = sort_operands(how.revisions, os.path.join(found.workspace, *here), git)
        operands.refuse_ambiguous(world.files, given.revisions, here)
        operands.check_paths_of_git(world.files, given.paths, here)
    given = given.replace(paths=(*given.paths, *how.pathspecs))
    words = [word for word in how.argv[1:] if word != "--no-pager"]
    hidden = _hidden_from_git(world, words, git, given, os.path.join(found.workspace, *here))
    if words[0] == "diff":
        # git cannot read these, and would fail to compare one that has not changed.
        files = world.secrets.files
        seen = (found.prefix + path for path in (*files.paths, *files.links)[:MOST_EXCLUDED])
        hidden = sorted({*hidden, *seen})
    argv, environment = allowed_command(words, git, given, hidden)
    if git.confinement is None:
        return argv, environment, None
    subcommand = next(word for word in how.argv[1:] if not word.startswith("-"))
    of = git.confinement
    confinement = of.of_stash() if how.whole_repository else of.of_reader(subcommand)
    if confinement is None or confinement.read is None:
        _note_once(world, FILTERS)
    return argv, environment, confinement


def _hidden_from_git(
    world: World, words: Sequence[str], git: Git, given: Operands, directory: str
) -> Sequence[str]:
    """Return the secret files that git must not show, from the root of the repository; note them."""
    from clada.world.git.allowed import find_secret_paths

    paths = find_secret_paths(words, git, given, directory, world.settings.reveal)
    if paths:
        _note_once(world, NOT_SHOWN.format(shortened(", ".join(map(escape_controls, paths)))))
    return paths


def _reader_confinement(world: World) -> ReadOnly | None:
    if world.settings.sandbox == "off":
        return None
    from clada.world.sandbox.landlock import ReadOnly, has_landlock

    if not has_landlock():
        return None
    return ReadOnly() if world.settings.allow_escape else ReadOnly((world.files.root,))


def approved_program(world: World, how: Approved, overlay: CommandOverlay | None = None) -> Program:
    """Return an approved program, confined as far as this machine supports it."""
    confinement = _confinement(world, how.network)
    if confinement and overlay:
        confinement = confinement.replace(layer="namespace", overlay=overlay.directory)
    return Program(how.argv, os.environ, confinement, world.settings.timeout, search_path(os.environ))


def overlay_for(world: World) -> CommandOverlay | None:
    """Return the overlay that takes the writes of an approved command, if the run is all or nothing.

    If there cannot be one, emit a note that says why, and what follows.
    """
    record = world.recording
    if record is None or not record.snapshot.all_or_nothing:
        return None
    from clada.world.sandbox import layers
    from clada.world.sandbox.overlay import CommandOverlay, problem, remove_stale

    if sandbox(world) not in layers.WITH_MOUNTS or not layers.has_namespaces():
        reason: str | None = "it takes a sandbox with namespaces"
    else:
        remove_stale(record.store.path)
        reason = problem(record.store.path, world.files.root)
    if reason:
        why = f"commands write to the workspace itself, not to an overlay ({reason})"
        _note_once(world, f"{why}: a rollback puts back all that changes while they run, and names it")
        return None
    return CommandOverlay(record.store.path, world.files.root)


def put_in_place(world: World, overlay: CommandOverlay) -> None:
    """Apply the overlay of a command to the workspace, as a part of the recorded run."""
    from clada.world.record.overlay_writes import OverlayWrites

    record = world.recording
    assert record is not None  # noqa: S101 (for type checkers: only a recorded run has an overlay)
    record.commands = True
    try:
        writes = OverlayWrites(overlay, world.tree)
        writes.put_in_place(record.snapshot)
    except OSError as error:
        raise CladaError("io_error", f"what the command wrote was not kept: {system_words(error)}") from None
    record.scan.take_over(writes)


def drop_writes(world: World, overlay: CommandOverlay) -> None:
    """Note the paths that a command wrote to its overlay, except caches; nothing of it is kept."""
    from clada.world.record.overlay_writes import OverlayWrites

    writes = OverlayWrites(overlay, world.tree)
    paths = [*writes.files, *(parts for parts, _is_directory in writes.removed)]
    world.dropped += [
        display_path(parts)
        for parts in paths
        if not any(name.startswith(".") or name == "__pycache__" for name in parts)
    ]


def scan_before(world: World) -> None:
    """Save the files that a command may change, if the run is recorded."""
    if world.recording:
        world.files.flush()
        world.recording.commands = True
        scan = world.recording.scan
        scan.before()
        if scan.warning:
            _note_once(world, scan.warning)


def scan_after(world: World, *, stash: bool = False) -> None:
    """Record the changes of a command; `stash`: it was git stash."""
    if world.recording:
        world.recording.scan.after(own_git=stash)
        if stash:
            _note_once(world, STASHED)


def report_new_executables(world: World) -> None:
    """Report what an approved command has made that other programs act on: executables, repositories."""
    from clada.world.sandbox.tree import describe_new, scan

    before, world.tree = world.tree, scan(world.files.root, world.tree)
    world.is_tree_stale = False
    for text in describe_new(before, world.tree) if before else ():
        world.emit(Note(text))


def _repository(world: World) -> tuple[str, ...]:
    """Return the paths of the repository outside the workspace that commands may read.

    These are its root, if the workspace is a part of it, the git directory of a linked work tree, and the
    objects of another repository that it uses.
    """
    from clada.world.git import repository
    from clada.world.git.harden import alternates
    from clada.world.sandbox.mounts import home, is_in

    try:
        found = repository.find(world.files.root)
    except CladaError:
        return ()
    paths = (found.root, found.git_dir, found.common_dir, *alternates(found))
    return tuple(path for path in paths if not is_in(path, world.files.root) and not is_in(home(), path))


def _confinement(world: World, network: bool) -> Confinement | None:
    from clada.world.sandbox.tree import scan

    if not world.tree or world.is_tree_stale:
        world.tree = scan(world.files.root, world.tree)
        world.is_tree_stale = False
    layer, settings = sandbox(world), world.settings
    if layer == "none":
        if settings.sandbox != "off":
            _note_once(world, UNSANDBOXED)
        return None
    from clada.world.sandbox.layers import Confinement

    if layer == "landlock":
        _note_once(world, LANDLOCK_ALONE)
    if world.repository is None:
        world.repository = _repository(world)
    return Confinement(
        layer,
        world.files.root,
        network=network,
        write=tuple(settings.sandbox_write),
        read=(*world.repository, *settings.sandbox_read),
        hide=tuple(settings.sandbox_env_hide),
        keep=tuple(settings.sandbox_env_keep),
        nested=tuple(sorted(world.tree.nested)),
    )


def _note_once(world: World, text: str) -> None:
    """Emit a note, unless it was emitted before."""
    if text not in world.noted:
        world.noted.add(text)
        world.emit(Note(text))
