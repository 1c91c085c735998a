"""The command line as a table: its commands and flags, and how a line of arguments is read by it.

Help, completion and the manual page are made from the same table.
"""

from __future__ import annotations

from clada.config import meant, read_text
from clada.errors import UsageError
from clada.notations.registry import NOTATIONS, with_prompt
from clada.settings import DEFAULTS, OUTPUT, READING, RUNNING, SAFETY, SETTINGS, Setting
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# The settings that have a flag, by their names; flags are written with dashes.
FLAGS = {setting.name: setting for setting in SETTINGS if setting.group}
NETWORK = Setting("network", "switch", False, "let the command use the network too", SAFETY)
PREFIX = Setting("prefix", "switch", False, "approve all commands that start with these words", SAFETY)
FOR_SHELL = Setting("shell", "switch", False, "approve a text that needs a shell: bash runs it", SAFETY)
NOT_ASKING = Setting("yes", "switch", False, "do not ask", SAFETY)
YES = Setting("yes", "switch", False, "carry answers out without asking", RUNNING)
CLIPBOARD = Setting("clipboard", "switch", False, "watch what is copied, in place of files", READING)
SETTLE = Setting(
    "settle", "duration", DEFAULTS["settle"], "how long an answer must be unchanged", READING, "TIME"
)
NO_OPEN = Setting("no_open", "switch", False, "print the address, and open no browser", OUTPUT)
HTML = Setting("html", "text", None, "write it as a page, into one HTML file", OUTPUT, "FILE")
CONVERTIBLE = tuple(row.name for row in NOTATIONS.values() if row.writer)
TO = Setting("to", "choice", None, "the notation to write", READING, "NAME", choices=CONVERTIBLE)
JOB_OUTPUT = FLAGS["max_output"].replace(meaning="output kept of the tasks of a job, and of its checks")
# Of `clada batch`; batch/run_job.py has the defaults of the limits, too, and is not loaded here.
BATCH_FLAGS = (
    Setting("out", "text", None, "results file (JSON Lines), or a directory/ of shards", OUTPUT, "FILE"),
    Setting("resume", "switch", False, "continue a batch that was stopped", RUNNING),
    Setting(
        "map", "text", None, "columns of the jobs, such as document=model_patch", READING, "FIELD=COLUMN"
    ),
    Setting("dataset", "text", None, "further columns of the jobs, joined by the id", READING, "PATH"),
    Setting("engine", "choice", "local", "where jobs run", RUNNING, choices=("local", "ray")),
    Setting("address", "text", None, "of the Ray cluster; without it, one on this machine", RUNNING, "HOST"),
    Setting("workers", "number", None, "jobs at a time (default: one a processor)", RUNNING, "NUMBER"),
    Setting("job_timeout", "duration", 300.0, "time limit of each job", RUNNING, "TIME"),
    Setting("job_memory", "size", 2 << 30, "memory that a job may have", RUNNING, "SIZE"),
    Setting("job_processes", "number", 512, "processes and threads that a job may have", RUNNING, "NUMBER"),
    Setting("container", "text", None, "run each job in this image, by podman or docker", RUNNING, "IMAGE"),
    FLAGS["max_output"],
    Setting("keep", "choice", "none", "workspaces that are kept", RUNNING, choices=("none", "failed", "all")),
    Setting("approve_checks", "switch", False, "run the commands that jobs have as checks", SAFETY),
    Setting("parquet", "text", None, "write the results as Parquet, too", OUTPUT, "FILE"),
    Setting("by", "text", None, "of a summary: a row for each value of this field", OUTPUT, "FIELD"),
    Setting("as", "choice", "table", "of a summary: its form", OUTPUT, choices=("table", "json", "svg")),
)
HTTP = Setting("http", "number", None, "serve HTTP on this port of loopback; 0: any", RUNNING, "PORT")
_OWN = (NETWORK, PREFIX, TO, YES, CLIPBOARD, SETTLE, NO_OPEN, HTML, HTTP, *BATCH_FLAGS)  # of single commands
KNOWN = {**FLAGS, **{flag.name: flag for flag in _OWN}}
BY_FLAG = {f"--{setting.dashed}": setting for setting in KNOWN.values()}
PLAIN = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}


class Command(Value):
    """A command: what may follow it, what it does, the flags that it takes, and where it is."""

    arguments: str
    meaning: str
    flags: tuple[str, ...]
    words: tuple[str, ...] = ()  # that its first argument may be
    needed: bool = False  # whether it has to have one
    most_words: int = 1  # arguments that it takes
    examples: tuple[tuple[str, str], ...] = ()
    configured: bool = True  # whether configuration files are read for it
    by_flag: tuple[str, ...] = ()  # what only a flag sets, and is None else
    inside: bool = True  # whether the workspace is checked first; a run checks it where it opens it
    asks_for_trust: bool = False  # in a workspace whose .clada is new
    own: Mapping[str, Setting] = {}  # flags that mean something else here

    def setting(self, name: str) -> Setting:
        """Return the setting that a flag of this command stands for."""
        return self.own.get(name) or KNOWN[name]

    @property
    def takes_file(self) -> bool:
        """Return whether its argument is a file."""
        return self.arguments.startswith(("[FILE", "JOBS"))

    @property
    def takes_run(self) -> bool:
        """Return whether its last argument is the number of a run."""
        return "RUN" in self.arguments

    @property
    def takes_command(self) -> bool:
        """Return whether its last argument is a command, which people forget to quote."""
        return self.arguments.endswith("[CMD]")


_ALL = tuple(FLAGS)
# What is about one document and its output, which a client of a server asks for itself, or gets otherwise.
_OF_ONE_DOCUMENT = "dry_run confirm again message output_mode error_detail summary copy events color".split()
# What says how a run is shown and asked about on the terminal, which a page has ways of its own for.
_PRINTING = "dry_run confirm output_mode error_detail summary copy events color".split()
PROMPTS = with_prompt()
MAIN = Command("[FILE]", "carry out what a document asks for", _ALL, inside=False, asks_for_trust=True)
COMMANDS: dict[str, Command] = {
    "plan": Command(
        "[FILE]",
        "show what would happen, with a diff; the same as --dry-run",
        ("html", *(name for name in _ALL if name != "confirm")),
        examples=(
            ("clada plan answer.md", "look at what an answer would change"),
            ("clada paste --dry-run", "the same, from the clipboard"),
            ("clada plan --html plan.html answer.md", "the same, as a page for a ticket"),
        ),
        inside=False,
    ),
    "paste": Command(
        "",
        "carry out what is on the clipboard",
        _ALL,
        examples=(("clada paste --confirm --copy", "look, choose, and copy the report for the chat"),),
        inside=False,
        asks_for_trust=True,
    ),
    "watch": Command(
        "[FILE|DIR]",
        "carry out each answer that is saved there, or copied, and report on it",
        (*(name for name in _ALL if name != "confirm"), "yes", "clipboard", "settle"),
        examples=(
            ("clada watch answer.md", "each time that you save an answer there"),
            ("clada watch --clipboard", "each time that you copy an answer"),
        ),
        inside=False,
        asks_for_trust=True,
    ),
    "review": Command(
        "[FILE]",
        "look at what would happen in the browser, choose, and carry it out there",
        ("no_open", *(name for name in _ALL if name not in _PRINTING)),
        examples=(
            ("clada review answer.md", "choose operations and hunks, and apply them"),
            ("clada review", "an empty page, to paste answers into"),
            ("clada review --no-open answer.md", "print the address only"),
        ),
        asks_for_trust=True,
    ),
    "parse": Command(
        "[FILE]",
        "print the plan as JSON, and execute nothing",
        ("workspace", "format", "start_delimiter", "end_delimiter", "root", "run_fences"),
        examples=(("clada parse answer.md | jq .problems", "what is wrong with the answer"),),
        inside=False,
    ),
    "convert": Command(
        "[FILE]",
        "print the same in another notation; the workspace is read, and not changed",
        (
            "to",
            "workspace",
            "format",
            "start_delimiter",
            "end_delimiter",
            "root",
            "run_fences",
            "strip_fences",
            "match",
            "allow_escape",
        ),
        examples=(
            ("clada convert --to csl answer.md", "an answer in any format, as CSL"),
            ("clada convert --to udiff answer.md | git apply", "as a diff"),
        ),
        inside=False,
    ),
    "approvals": Command(
        "list|add|remove|block [CMD]",
        "manage the approved commands (add --network CMD)",
        ("workspace", "network", "prefix", "shell"),
        words=("list", "add", "remove", "block"),
        own={"shell": FOR_SHELL},
        examples=(
            ('clada approvals add "npm test"', "let this exact command run"),
            ('clada approvals add --network "npm install"', "the same, with the network"),
            ('clada approvals add --prefix "pytest"', "this one with any further arguments"),
            ('clada approvals add --shell "ls *.py"', "what only bash can run (--shell=approved)"),
            ('clada approvals block "npm publish"', "never run this one"),
            ('clada approvals remove "npm test"', "forget it: ask again"),
        ),
    ),
    "trust": Command(
        "",
        "look at what this workspace brings along in .clada, and let it count",
        ("workspace", "yes"),
        own={"yes": NOT_ASKING},
        examples=(
            ("clada trust", "show .clada whole, and ask"),
            ("clada trust --yes", "show it, and trust it without asking"),
        ),
    ),
    "history": Command(
        "[show RUN|prune]",
        "list the recorded runs, newest first; show one in full; forget old ones",
        ("workspace",),
        words=("show", "prune"),
        most_words=2,
        examples=(
            ("clada history show 12", "its document, its report and what it changed"),
            ("clada history prune", "forget what history_size and history_age do not keep"),
        ),
    ),
    "undo": Command(
        "[RUN]",
        "restore what the last run changed, or that one",
        ("workspace", "dry_run", "record", "git_author", "lock_timeout"),
        by_flag=("record",),
        examples=(
            ("clada undo", "take back the last run that changed something"),
            ("clada undo --dry-run", "show what that would change"),
            ("clada undo 12", "take back run 12 of clada history"),
        ),
    ),
    "resume": Command(
        "[RUN]",
        "carry out what failed or was skipped in the last run, or in that one",
        tuple(name for name in _ALL if name not in ("confirm", "format", "start_delimiter", "end_delimiter")),
        examples=(('clada approvals add "npm test"; clada resume', "go on where a command was refused"),),
        asks_for_trust=True,
    ),
    "report": Command(
        "[RUN]",
        "print what an LLM needs to go on after the last run, or that one",
        ("workspace", "copy"),
        examples=(("clada report --copy", "put it on the clipboard, for a web chat"),),
    ),
    "recover": Command(
        "",
        "take back what a killed run left half done, where it was all or nothing",
        ("workspace", "lock_timeout"),
    ),
    "batch": Command(
        "JOBS|summary RESULTS",
        "carry out many answers, each in its own workspace; or sum up the results",
        tuple(flag.name for flag in BATCH_FLAGS),
        own={"max_output": JOB_OUTPUT},
        most_words=2,
        examples=(
            ("clada batch jobs.jsonl --out=results.jsonl", "carry out all jobs"),
            ("clada batch jobs.jsonl --out=results.jsonl --resume", "continue after an interrupt"),
            ("clada batch summary results.jsonl --by=model", "compare models"),
        ),
        configured=False,
        inside=False,
    ),
    "prompt": Command(
        f"[{'|'.join(PROMPTS)}]",
        "print instructions for an LLM to write that notation",
        ("workspace", "start_delimiter", "end_delimiter", "copy"),
        words=PROMPTS,
        examples=(("clada prompt csl >> system-prompt.txt", "tell an LLM how to answer"),),
        inside=False,
    ),
    "mcp": Command(
        "",
        "serve the Model Context Protocol, for agents; needs clada[mcp]",
        ("http", *(name for name in _ALL if name not in _OF_ONE_DOCUMENT)),
        examples=(
            ("clada mcp --workspace ~/project", "on standard input and output, as hosts start it"),
            ("CLADA_MCP_TOKEN=… clada mcp --http 8765", "on loopback, for clients with the token"),
        ),
    ),
    "doctor": Command(
        "", "show what this machine and workspace offer", ("workspace",), configured=False, inside=False
    ),
    "completion": Command(
        "bash|zsh|fish",
        "print a shell's completion script",
        (),
        words=("bash", "zsh", "fish"),
        needed=True,
        examples=(
            ('eval "$(clada completion bash)"', "in ~/.bashrc"),
            ('eval "$(clada completion zsh)"', "in ~/.zshrc, after compinit"),
            ("clada completion fish | source", "in ~/.config/fish/config.fish"),
        ),
        configured=False,
        inside=False,
    ),
}


SWITCH_WORDS = {"true": True, "false": False, "always": True, "never": False}


class Invocation(Value):
    """What the command line asks for: a command, its arguments, and the flags that were given."""

    command: str | None
    row: Command
    arguments: tuple[str, ...]
    given: Mapping[str, Any]  # by the names of settings


def read(arguments: Sequence[str]) -> Invocation:
    """Read a command line."""
    given: dict[str, Any] = {}
    words: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            words.extend(reversed(waiting))
            break
        if word in PLAIN:
            given[PLAIN[word]] = True
        elif word.startswith("-") and word != "-":
            row = COMMANDS.get(words[0], MAIN) if words else MAIN
            _read_flag(word, waiting, given, row)
        else:
            words.append(word)
    no_git = given.pop("no_git", None)
    if no_git is not None:
        given.setdefault("record", "none" if no_git else "auto")
    command = words.pop(0) if words and words[0] in COMMANDS else None
    row = COMMANDS[command] if command else MAIN
    if not given.get("help"):
        _check(row, f"clada {command}" if command else "clada", given, words)
    return Invocation(command, row, tuple(words), given)


def _read_flag(word: str, waiting: list[str], given: dict[str, Any], row: Command) -> None:
    flag, equals, value = word.partition("=")
    setting = row.own.get(flag[2:]) or BY_FLAG.get(flag)
    if setting is None:
        known = [*(each.dashed for each in KNOWN.values()), "help", "version"]
        near = meant(flag.lstrip("-"), known, "--{}") or "; see clada --help"
        raise UsageError(f"unknown flag {flag}{near}")
    if setting.kind == "switch":
        if equals and value not in SWITCH_WORDS:
            raise UsageError(f"{flag} takes no value (or {', '.join(SWITCH_WORDS)}), not {value!r}")
        given[setting.name] = SWITCH_WORDS[value] if equals else True
        return
    if not equals:
        if not waiting:
            raise UsageError(f"{flag} needs a value; see clada --help")
        value = waiting.pop()
    try:
        read_value = read_text(setting, value)
    except UsageError as error:
        raise UsageError(f"{flag} {error}") from None
    values = (*given.get(setting.name, ()), read_value) if setting.kind == "list" else read_value
    given[setting.name] = values


def _check(row: Command, whose: str, given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse flags and arguments that the command's row does not have."""
    for name in given:
        if name != "version" and name not in row.flags:
            raise UsageError(f"--{KNOWN[name].dashed} is not a flag of `{whose}`; see {whose} --help")
    if given.get("version"):
        return
    if words and not row.arguments:
        raise UsageError(f"{whose} takes no argument, and got {words[0]!r}")
    if not words and row.needed:
        raise UsageError(f"{whose} takes one of {', '.join(row.words)}")
    if words and row.words and words[0] not in row.words:
        raise UsageError(f"{whose} takes one of {', '.join(row.words)}, not {words[0]!r}")
    if len(words) > row.most_words and not row.takes_command:
        most = words[row.most_words]
        raise UsageError(f"{whose} takes one argument: {most!r} is too many; see {whose} --help")
