"""Files that run by themselves later, and what an operation may do with them.

ASK: an editor, a shell, an agent or git runs the file merely because the user opens the folder or works in
it. It is written only if a person says yes, or with --allow-autorun. MARK: it runs with the project's own
work, such as its tests, its build or its CI. It is written, and the report says so.
"""

from __future__ import annotations

import os
import re

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.paths import display_path, fold_name
from clada.world.handles import open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clada.world.files.paths import Parts


ASK, MARK = "ask", "mark"
WORDS = {ASK: "runs by itself", MARK: "runs later"}
HINT = "--allow-autorun writes it without asking"
INSTALLED = "editors load and run what is in it"

# What runs each of them, and when. `x/` is everything in a folder of this name, `*.x` an ending.
ASKED = {
    # Shells.
    "direnv runs it when a shell enters the folder": ".envrc .direnv/",
    "autoenv runs it when a shell enters the folder": ".autoenv .autoenv.zsh .autoenv_leave.zsh",
    "mise runs its hooks when a shell enters the folder": (
        "mise.toml .mise.toml mise.local.toml .mise.local.toml .mise/ .config/mise/ .config/mise.toml"
    ),
    "a shell whose home this is runs it when it starts": (
        ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile"
        " .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .config/fish/ .xprofile .xinitrc"
    ),
    # Editors.
    "VS Code runs its tasks when the folder is opened": ".vscode/tasks.json",
    "VS Code starts its servers": ".vscode/mcp.json",
    "JetBrains IDEs run its tasks when the project is opened": (
        ".idea/workspace.xml .idea/startup.xml .idea/runconfigurations/ .run/"
    ),
    "JetBrains IDEs run its watchers when a file changes": ".idea/watchertasks.xml",
    "Zed and Fleet run the programs that it names": ".zed/ .fleet/",
    "vim and neovim run it when they start in the folder": (
        ".exrc .vimrc .gvimrc .nvimrc .nvim.lua .lvimrc .local.vimrc"
    ),
    "emacs evaluates it when a file in the folder is opened": (
        ".dir-locals.el .dir-locals-2.el .emacs .emacs.d/"
    ),
    INSTALLED: "node_modules/ .venv/ venv/ .yarn/sdks/ .pnp.cjs .pnp.loader.mjs",
    "rust-analyzer runs the programs that it names": ".cargo/",
    # Debuggers and prompts.
    "the debugger runs it when it starts in the folder": (
        ".gdbinit .lldbinit .pdbrc .pdbrc.py .perldb .rdbgrc"
    ),
    "a prompt of the language runs it when it starts in the folder": (
        ".rprofile .renviron .ghci .ocamlinit .iex.exs .irbrc .pryrc .octaverc startup.m .pythonrc"
        " .pythonrc.py"
    ),
    # Agents.
    "an agent runs the hooks and servers that it names": (
        ".claude/ .mcp.json mcp.json .cursor/ .codex/ .gemini/ .windsurf/ .continue/ .roo/ .kiro/ .amazonq/"
        " .opencode/ opencode.json opencode.jsonc .crush.json crush.json .goose/ .junie/ .qwen/ .cline/"
        " .aider.conf.yml .aider.conf.yaml"
    ),
    # Version control.
    "git runs it as a hook": ".husky/ .githooks/ .git-hooks/ githooks/",
    "Mercurial, Jujutsu, Sapling, Pijul or Darcs runs what it says": (
        ".hg/ .jj/ .sl/ .pijul/ _darcs/ .hgrc"
    ),
    # Python.
    "Python runs it at each start": (
        "sitecustomize.py sitecustomize/ usercustomize.py usercustomize/ *.pth *._pth pyvenv.cfg"
    ),
    # Machines that are made from the folder.
    "a development environment runs its commands when the folder is opened": (
        ".devcontainer/ .devcontainer.json .gitpod.yml .gitpod.dockerfile .replit replit.nix .stackblitzrc"
        " .codesandbox/ devbox.json devenv.nix .idx/"
    ),
}  # fmt: skip
MARKED = {
    "CI runs it": (
        ".github/workflows/ .github/actions/ .gitlab-ci.yml .circleci/ .travis.yml jenkinsfile .buildkite/"
        " azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .woodpecker.yml .woodpecker/ .cirrus.yml"
        " .gitea/workflows/ .forgejo/workflows/ appveyor.yml .appveyor.yml cloudbuild.yaml cloudbuild.yml"
    ),
    "pytest runs it before the tests": "conftest.py",
    "pip runs it when the project is installed": "setup.py",
    "make runs its recipes": "makefile gnumakefile",
    "cargo runs it before the build": "build.rs",
    "git runs the filters and drivers that it chooses": ".gitattributes",
    "git fetches the repositories that it names": ".gitmodules",
    "git includes it where its configuration says so": ".gitconfig",
    "pre-commit, or another manager of hooks, runs its programs at each commit": (
        ".pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml .lefthook/ .lefthook.yml"
        " .overcommit.yml .lintstagedrc .lintstagedrc.json .lintstagedrc.js lint-staged.config.js"
        " .simple-git-hooks.json"
    ),
    "npm, pnpm or yarn runs the programs that it names": ".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs",
    "the build tool runs what it names": (
        ".mvn/ gradlew gradlew.bat gradle/wrapper/ init.gradle .bazelrc rakefile gruntfile.js gulpfile.js"
        " noxfile.py sconstruct wscript"
    ),
    "linters and editors run it": (
        "eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts .eslintrc.js .eslintrc.cjs"
        " prettier.config.js prettier.config.mjs prettier.config.cjs .prettierrc.js .prettierrc.cjs"
        " .stylelintrc.js .pylintrc .rubocop.yml .rspec .luacheckrc"
    ),
    "VS Code runs it when debugging starts": ".vscode/launch.json",
    "agents follow its instructions": (
        "claude.md agents.md gemini.md .cursorrules .windsurfrules .clinerules .clinerules/ .goosehints"
        " .github/copilot-instructions.md .github/instructions/"
    ),
}  # fmt: skip


class Autorun(Value):
    """A file that runs by itself: at which level, and what runs it."""

    level: str
    reason: str
    by_content: str = ""  # which part of its content runs, a key of PARTS; else all of it


_SETTINGS = Autorun(ASK, "VS Code runs the programs that its settings name", "program settings")
BY_CONTENT = {
    ".vscode/settings.json": _SETTINGS,
    "*.code-workspace": _SETTINGS,
    "package.json": Autorun(MARK, "npm runs its scripts", "scripts"),
}
TABLE: Mapping[str, Autorun] = {
    **{name: Autorun(MARK, reason) for reason, names in MARKED.items() for name in names.split()},
    **{name: Autorun(ASK, reason) for reason, names in ASKED.items() for name in names.split()},
    **BY_CONTENT,
}
LONGEST = max(name.rstrip("/").count("/") for name in TABLE) + 1  # parts of a path in the table
LARGEST = 1 << 20  # bytes of a file that is read
NO_PATH = ("",)
HOOK = Autorun(ASK, "git runs it as a hook")


def autorun_of(parts: Parts) -> Autorun | None:
    """Return the row for a path, by its names; ASK rows come first."""
    names = [fold_name(part) for part in parts]
    found = [TABLE[key] for key in _keys(names) if key in TABLE]
    return min(found, key=lambda each: each.level, default=None)


def _keys(names: list[str]) -> list[str]:
    """Return the keys of the table that may match a path: its end, its ending, and the folders above it."""
    keys = [f"*{os.path.splitext(names[-1])[1]}"] if names else []
    for start in range(len(names)):
        ends = range(start + 1, min(start + LONGEST, len(names)) + 1)
        keys += ["/".join(names[start:end]) + ("/" if end < len(names) else "") for end in ends]
    return keys


class AutorunGuard:
    """Decides on each file that an operation writes, appends to, moves or copies somewhere.

    `ask` puts a question to a person; without one, the answer is no. A file is asked about once in a run.
    """

    def __init__(self, root: str, ask: Callable[[str], bool], *, allowed: bool) -> None:
        self._root, self._ask, self._allowed = root, ask, allowed
        self._answers: dict[Parts, bool] = {}
        self._remarks: dict[str, str] = {}  # of the present operation, by path
        self._hooks: Parts | None = None  # the directory of git's hooks, once it was read

    def check(self, parts: Parts, content: Callable[[], bytes]) -> None:
        """Raise CladaError if this file must not get this content; else note that it runs by itself."""
        found = autorun_of(parts) or (HOOK if self._is_hook(parts) else None)
        if not found:
            return
        if found.by_content:
            old = read_small(os.path.join(self._root, *parts))
            if not has_other_parts(found.by_content, old, content()):
                return
        path = display_path(parts)
        if found.level == ASK and not self._allowed and not self._may(parts, path, found.reason):
            raise CladaError("permission_denied", f"a person must allow {path}: {found.reason}", HINT)
        self._remarks[path] = f"{WORDS[found.level]}: {found.reason}"

    def _may(self, parts: Parts, path: str, reason: str) -> bool:
        if parts not in self._answers:
            question = f"{path} {WORDS[ASK]}: {reason}. Write it?"
            self._answers[parts] = self._ask(question)
        return self._answers[parts]

    def take_remarks(self, target: str) -> tuple[str, ...]:
        """Return the remarks on the present operation, and begin with the next one."""
        remarks, self._remarks = self._remarks, {}
        return tuple(text if path == target else f"{path} {text}" for path, text in remarks.items())

    def _is_hook(self, parts: Parts) -> bool:
        """Whether the repository's own configuration makes this a hook (core.hooksPath)."""
        if self._hooks is None:
            self._hooks = hooks_path(self._root)
        return parts[: len(self._hooks)] == self._hooks


def hooks_path(root: str) -> Parts:
    """Return the folder of the workspace that core.hooksPath of its repository names, or NO_PATH."""
    pairs = (line.partition(b"=") for line in read_small(os.path.join(root, ".git", "config")).splitlines())
    named = [value.strip(b' \t"') for key, _, value in pairs if key.strip().lower() == b"hookspath"]
    if not named:
        return NO_PATH
    path = os.path.join(root, os.path.expanduser(os.fsdecode(named[-1])))  # the last one counts
    below = os.path.relpath(path, root)
    return NO_PATH if below.startswith("..") else tuple(below.split("/")) if below != "." else ()


def read_small(path: str) -> bytes:
    """Return the content of a regular file, without following a link; nothing if it is missing or large."""
    try:
        with open(open_file(path), "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:
        return b""
    return data if len(data) <= LARGEST else b""


# Words in the names of settings of VS Code and its extensions by which they name a program, its arguments or
# variables, or let something run without asking.
PROGRAM_WORDS = """
    path exec command cmd interpreter shell terminal program binary server args env tools tsdk sdk runtime
    home task trust approve runonsave hook mcp plugin script launch loader wrapper linter formatter extension
""".split()
# An unclosed string or comment extends to the end, so that they take linear time. No possessive group:
# Python 3.11.2 matches those wrongly.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*\\?(?:"|\Z)'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])", re.DOTALL)
# Which keys of a JSON text stand for something that runs.
PARTS: dict[str, Callable[[str], bool]] = {
    "program settings": lambda key: any(word in key.casefold() for word in PROGRAM_WORDS),
    "scripts": lambda key: key == "scripts",
}


def has_other_parts(name: str, old: bytes, new: bytes) -> bool:
    """Whether something would run from the new content that did not from the old one."""
    is_part = PARTS[name]
    then, now = ([pair for pair in _pairs(data) if is_part(pair[0])] for data in (old, new))
    return bool(now) and now != then


def _pairs(data: bytes) -> list[Any]:
    """Return all keys in a JSON text with their values, in order, each time that they occur."""
    if not data.strip():
        return []
    import json  # late: few files are examined by their content

    found: list[Any] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(pairs)
        return dict(pairs)

    text = data.decode(errors="replace").removeprefix("\ufeff")
    without_comments = _COMMENT.sub(lambda found: found[1] or "", text)
    try:
        json.loads(_LAST_COMMA.sub(lambda found: found[1] or "", without_comments), object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return [("scripts", text), ("path", text)]  # unreadable content may hold anything
    return found
