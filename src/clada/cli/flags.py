"""The tables of commands and flags. Help, completion and the manual page are made from them."""

from __future__ import annotations

from clada.notations.registry import NOTATIONS, with_prompt
from clada.settings import BY_NAME, OUTPUT, READING, RUNNING, SAFETY, SETTINGS, Setting
from clada.values import Value

CONVERTIBLE = tuple(row.name for row in NOTATIONS.values() if row.writer)
PROMPTS = with_prompt()
# The settings that have a flag, by name; flags are written with dashes.
FLAGS = {setting.name: setting for setting in SETTINGS if setting.group}
YES = Setting(
    "yes", "switch", False, "apply without asking first; commands still need approval", RUNNING, short="y"
)
JSON = Setting("json", "switch", False, "print only JSON on standard output (-o json)", OUTPUT)
PACK_FLAGS = (
    Setting("ask", "text", None, "the question, at the end of the text", READING, "TEXT"),
    Setting("edit", "switch", False, "write the question in $EDITOR", READING),
    Setting("changed", "switch", False, "only files that differ from HEAD", READING),
    Setting("tracked", "switch", False, "only files that git tracks", READING),
    Setting("since", "text", None, "only files that differ from this revision", READING, "REV"),
    Setting("max_tokens", "number", None, "leave out the largest files above this size", READING, "NUMBER"),
    Setting("numbers", "switch", False, "number the lines of the files", OUTPUT),
)
# batch/run_job.py has the defaults of the limits, too, and is not loaded here.
BATCH_FLAGS = (
    Setting("out", "text", None, "results file (JSON Lines), or a directory/ of shards", OUTPUT, "FILE"),
    Setting("resume", "switch", False, "continue a batch that was stopped", RUNNING),
    Setting(
        "map", "text", None, "columns of the jobs, such as document=model_patch", READING, "FIELD=COLUMN"
    ),
    Setting("dataset", "text", None, "further columns of the jobs, joined by the id", READING, "PATH"),
    Setting("engine", "choice", "local", "where jobs run", RUNNING, choices=("local", "ray")),
    Setting(
        "address", "text", None, "address of the Ray cluster", RUNNING, "HOST",
        otherwise="one on this machine",
    ),
    Setting("workers", "number", None, "jobs at a time", RUNNING, "NUMBER", otherwise="one per processor"),
    Setting("job_timeout", "duration", 300.0, "time limit of each job", RUNNING, "TIME"),
    Setting("job_memory", "size", 2 << 30, "memory limit of each job", RUNNING, "SIZE"),
    Setting("job_processes", "number", 512, "limit of processes and threads of each job", RUNNING, "NUMBER"),
    Setting("container", "text", None, "run each job in this image, by podman or docker", RUNNING, "IMAGE"),
    FLAGS["max_output"].replace(meaning="output kept of the tasks and checks of a job"),
    Setting("keep", "choice", "none", "which workspaces to keep", RUNNING, choices=("none", "failed", "all")),
    Setting("approve_checks", "switch", False, "run the commands that jobs have as checks", SAFETY),
    Setting("parquet", "text", None, "write the results as Parquet too", OUTPUT, "FILE"),
    Setting("by", "text", None, "summary: one row per value of this field", OUTPUT, "FIELD"),
    Setting("as", "choice", "table", "summary: its form", OUTPUT, choices=("table", "json", "svg")),
)  # fmt: skip
# All flags by name: those of settings, and those that only some commands take.
KNOWN = {
    flag.name: flag
    for flag in (
        *PACK_FLAGS,
        *BATCH_FLAGS,
        *FLAGS.values(),
        YES,
        JSON,
        Setting("network", "switch", False, "give the command access to the network", SAFETY),
        Setting("prefix", "switch", False, "approve all commands that start with these words", SAFETY),
        Setting("to", "choice", None, "notation to write", READING, "NAME", choices=CONVERTIBLE),
        Setting("clipboard", "switch", False, "watch the clipboard instead of files", READING),
        BY_NAME["settle"].replace(
            meaning="how long an answer must be unchanged", group=READING, value="TIME"
        ),
        Setting("review", "switch", False, "show each answer on a page in the browser", OUTPUT),
        Setting("no_open", "switch", False, "print the address, do not open a browser", OUTPUT),
        Setting("html", "text", None, "write the plan as one HTML file", OUTPUT, "FILE"),
        Setting("limit", "number", 20, "how many runs to list; 0: all", OUTPUT, "NUMBER"),
        Setting("long", "switch", False, "show full timestamps and commits", OUTPUT, short="v"),
        Setting("http", "number", None, "serve HTTP on this port of loopback; 0: any", RUNNING, "PORT"),
        Setting(
            "tools", "choice", "usual", "all: also write_file and edit_file", RUNNING,
            choices=("usual", "all"),
        ),
    )
}  # fmt: skip
# Letters that stand for the value of another flag, or for one flag here and another one there.
ALIASES = (
    Setting("quiet", "switch", False, "print failures only", OUTPUT, short="q"),
    Setting("verbose", "switch", False, "print full details", OUTPUT, short="v"),
    Setting("output", "choice", "text", "form of the output", OUTPUT, short="o", choices=("text", "json")),
)
ABOUT_CLADA = (
    Setting("help", "switch", False, "show help", short="h"),
    Setting("version", "switch", False, "show the version", short="V"),
)
BY_FLAG = {f"--{flag.dashed}": flag for flag in (*KNOWN.values(), *ABOUT_CLADA)}
BY_LETTER = {f"-{flag.short}": flag for flag in (*FLAGS.values(), YES, *ALIASES, *ABOUT_CLADA) if flag.short}


class Command(Value):
    """A command: its arguments, its help text, and the flags that it takes."""

    arguments: str
    meaning: str
    flags: tuple[str, ...]
    group: str = ""  # heading in the help
    words: tuple[str, ...] = ()  # allowed values of its first argument
    needed: bool = False  # whether the first argument is required
    most_words: int = 1  # upper limit of arguments
    examples: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()  # flags that are accepted and not shown in its help
    configured: bool = True  # whether configuration files are read for it
    by_flag: tuple[str, ...] = ()  # settings that only a flag sets; otherwise they are None
    inside: bool = True  # whether the workspace is checked first; a run checks it when it opens it
    asks_for_trust: bool = False  # in a workspace whose .clada is new
    own: tuple[Setting, ...] = ()  # flags with another meaning here
    module: str = ""  # of clada.cli.commands, if it is not named like the command

    def setting(self, name: str) -> Setting:
        """Return the setting that a flag of this command stands for."""
        return next((flag for flag in self.own if flag.name == name), KNOWN[name])

    @property
    def takes_file(self) -> bool:
        """Whether its argument is a file."""
        return self.arguments.startswith(("[FILE", "[PATH", "JOBS"))

    @property
    def takes_run(self) -> bool:
        """Whether its last argument is the number of a run."""
        return "RUN" in self.arguments

    @property
    def takes_command(self) -> bool:
        """Whether its last argument is a command, which people forget to quote."""
        return self.arguments.endswith("[CMD]")


_ALL = (*FLAGS, "yes", "json")
# About one document and its output: a client of a server has other ways for them.
_OF_ONE_DOCUMENT = """
    dry_run confirm yes again message output_mode error_detail summary json copy events color
""".split()
# About the terminal: a web page has other ways for them.
_PRINTING = "dry_run confirm yes output_mode error_detail summary json copy events color".split()
# Accepted by `clada plan`, so that it can stand in for the real run, and without effect there.
_WITHOUT_EFFECT_IN_PLAN = """
    dry_run again record no_git git_author message commit_all repository snapshot_limit lock_file lock_timeout
    timeout total_timeout max_output
""".split()
_READING = ("workspace", "format", "root", "run_fences", "start_delimiter", "end_delimiter")
APPLY, PAST, MODEL, SETUP, SERVE = (
    "Apply answers", "Runs so far", "Formats and prompts", "Set up", "Agents and batches",
)  # fmt: skip
MAIN = Command("[FILE]", "apply the edits in an LLM's answer", _ALL, inside=False, asks_for_trust=True)
COMMANDS: dict[str, Command] = {
    "plan": Command(
        "[FILE]",
        "show what would change, with a diff; change nothing",
        ("html", *(name for name in _ALL if name not in ("confirm", "yes"))),
        APPLY,
        examples=(
            ("clada plan answer.md", "what an answer would change"),
            ("clada plan --json answer.md | jq .failed", "how many operations would fail"),
            ("clada plan --html plan.html answer.md", "as a page for a ticket"),
        ),
        unlisted=tuple(_WITHOUT_EFFECT_IN_PLAN),
        inside=False,
        module="apply",
    ),
    "paste": Command(
        "",
        "apply the answer on the clipboard",
        _ALL,
        APPLY,
        examples=(("clada paste --confirm --copy", "choose, apply, and copy the report for the chat"),),
        inside=False,
        asks_for_trust=True,
        module="apply",
    ),
    "watch": Command(
        "[FILE|DIR]",
        "apply each answer that is saved there, or copied",
        (
            *(name for name in _ALL if name not in ("confirm", "json")),
            "clipboard",
            "settle",
            "review",
            "no_open",
        ),
        APPLY,
        examples=(
            ("clada watch answer.md", "each time that you save an answer there"),
            ("clada watch --clipboard", "each time that you copy an answer"),
            ("clada watch --review ~/Downloads", "choose and apply each of them in the browser"),
        ),
        inside=False,
        asks_for_trust=True,
    ),
    "review": Command(
        "[FILE]",
        "choose and apply in the browser",
        ("no_open", *(name for name in _ALL if name not in _PRINTING)),
        APPLY,
        examples=(
            ("clada review answer.md", "choose operations and hunks, and apply them"),
            ("clada review", "an empty page to paste answers into"),
            ("clada review --no-open answer.md", "print the address only"),
        ),
        asks_for_trust=True,
    ),
    "resume": Command(
        "[RUN]",
        "apply what failed or was skipped in the last run, or in that one",
        tuple(name for name in _ALL if name not in ("confirm", "format", "start_delimiter", "end_delimiter")),
        APPLY,
        own=(
            Setting(
                "merge", "switch", False, "merge edits that fit an earlier version of their file", READING
            ),
        ),
        examples=(
            ('clada approvals add "npm test"; clada resume', "continue after a refused command"),
            ("clada resume --merge", "merge edits that were written for an earlier version"),
        ),
        asks_for_trust=True,
        module="apply",
    ),
    "history": Command(
        "[show RUN|prune]",
        "list the runs, newest first; show one in full; delete old ones",
        ("workspace", "limit", "long", "json"),
        PAST,
        words=("show", "prune"),
        most_words=2,
        examples=(
            ("clada history", "the last 20 runs"),
            ("clada history show 12", "its document, its report and its changes"),
            ("clada history prune", "delete what history_size and history_age do not keep"),
        ),
    ),
    "undo": Command(
        "[RUN]",
        "revert the last run, or that one",
        ("workspace", "dry_run", "record", "git_author", "lock_timeout", "json"),
        PAST,
        by_flag=("record",),
        examples=(
            ("clada undo", "revert the last run that changed something"),
            ("clada undo --dry-run", "show what that would change"),
            ("clada undo 12", "revert run 12 of clada history"),
        ),
    ),
    "commit": Command(
        "[RUN…]",
        "combine the commits of the last run, or of several, into one with your message",
        ("message", "workspace", "git_author", "lock_timeout", "json"),
        PAST,
        most_words=1000,
        own=(FLAGS["message"].replace(meaning="message of the new commit", otherwise=""),),
        by_flag=("message",),
        examples=(
            ('clada commit -m "Add a login form"', "the last run"),
            ('clada commit 11 12 -m "Add a login form"', "two runs at the tip of the branch"),
        ),
    ),
    "report": Command(
        "[RUN]",
        "print the report of the last run, or of that one, for the LLM",
        ("workspace", "copy", "json"),
        PAST,
        examples=(("clada report --copy", "copy it for a web chat"),),
        module="history",
    ),
    "recover": Command(
        "",
        "roll back an --atomic run that was killed",
        ("workspace", "lock_timeout"),
        PAST,
        module="undo",
    ),
    "pack": Command(
        "[PATH…]",
        "print files, instructions and a question as one text for a chat",
        (*(flag.name for flag in PACK_FLAGS), "format", "workspace", "copy"),
        MODEL,
        most_words=10_000,
        own=(
            FLAGS["copy"].replace(meaning="copy the text to the clipboard"),
            FLAGS["format"].replace(
                meaning="format that the instructions ask for", choices=PROMPTS, otherwise=PROMPTS[0]
            ),
        ),
        by_flag=("format", *(flag.name for flag in PACK_FLAGS)),
        examples=(
            ('clada pack --copy src/app.py --ask "Add a test"', "for a web chat"),
            ("clada pack --changed | llm | clada", "your uncommitted work, through a model"),
            ("clada pack 'src/*.py' --max-tokens 50000", "as much as fits"),
        ),
    ),
    "prompt": Command(
        f"[{'|'.join(PROMPTS)}]",
        "print instructions for the LLM",
        ("workspace", "start_delimiter", "end_delimiter", "copy"),
        MODEL,
        words=PROMPTS,
        examples=(("clada prompt csl >> system-prompt.txt", "tell an LLM how to answer"),),
        inside=False,
        module="pack",
    ),
    "convert": Command(
        "[FILE]",
        "print an answer in another notation",
        ("to", *_READING, "strip_fences", "match", "allow_escape"),
        MODEL,
        examples=(
            ("clada convert --to csl answer.md", "an answer in any format, as CSL"),
            ("clada convert --to udiff answer.md | git apply", "as a diff"),
        ),
        inside=False,
    ),
    "parse": Command(
        "[FILE]",
        "print the parsed answer as JSON; change nothing",
        _READING,
        MODEL,
        examples=(("clada parse answer.md | jq .problems", "what is wrong with the answer"),),
        inside=False,
        module="convert",
    ),
    "approvals": Command(
        "list|add|remove|block [CMD]",
        "manage the commands that may run without asking",
        ("workspace", "network", "prefix", "shell", "json"),
        SETUP,
        words=("list", "add", "remove", "block"),
        own=(Setting("shell", "switch", False, "approve a text that needs a shell; bash runs it", SAFETY),),
        examples=(
            ('clada approvals add "npm test"', "let this exact command run"),
            ('clada approvals add --network "npm install"', "the same, with the network"),
            ('clada approvals add --prefix "pytest"', "this one with any further arguments"),
            ('clada approvals add --shell "ls *.py"', "what only bash can run (--shell=approved)"),
            ('clada approvals block "npm publish"', "never run this one"),
            ('clada approvals remove "npm test"', "ask again"),
        ),
    ),
    "trust": Command(
        "",
        "review and trust this repository's .clada directory",
        ("workspace", "yes"),
        SETUP,
        own=(Setting("yes", "switch", False, "trust it without asking", SAFETY, short="y"),),
        examples=(
            ("clada trust", "show .clada and ask"),
            ("clada trust --yes", "show it, and trust it without asking"),
        ),
    ),
    "config": Command(
        "[get KEY|set KEY VALUE…]",
        "list every setting, its value and its source; or set one for you",
        ("workspace", "json"),
        SETUP,
        words=("get", "set"),
        most_words=1000,
        examples=(
            ("clada config", "all settings"),
            ("clada config set record snapshots", "write it to ~/.config/clada/config.toml"),
        ),
        configured=False,
        inside=False,
    ),
    "doctor": Command(
        "",
        "check what this machine and workspace offer",
        ("workspace", "json"),
        SETUP,
        configured=False,
        inside=False,
    ),
    "completion": Command(
        "bash|zsh|fish",
        "print a shell's completion script",
        (),
        SETUP,
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
    "help": Command("[COMMAND]", "show the help of a command", (), SETUP, configured=False, inside=False),
    "mcp": Command(
        "",
        "serve the Model Context Protocol; needs clada[mcp]",
        ("http", "tools", *(name for name in _ALL if name not in _OF_ONE_DOCUMENT)),
        SERVE,
        examples=(
            ("clada mcp --workspace ~/project", "on standard input and output, as hosts start it"),
            ("CLADA_MCP_TOKEN=… clada mcp --http 8765", "on loopback, for clients with the token"),
        ),
    ),
    "batch": Command(
        "JOBS|summary RESULTS|view RESULTS [OTHER]",
        "apply many answers, each in its own workspace; or sum up or show the results",
        (*(flag.name for flag in BATCH_FLAGS), "no_open"),
        SERVE,
        own=BATCH_FLAGS,
        most_words=3,
        examples=(
            ("clada batch jobs.jsonl --out=results.jsonl", "run all jobs"),
            ("clada batch jobs.jsonl --out=results.jsonl --resume", "continue after an interrupt"),
            ("clada batch summary results.jsonl --by=model", "compare models"),
            ("clada batch view results.jsonl before.jsonl", "show results, and which jobs flipped"),
        ),
        configured=False,
        inside=False,
    ),
}
