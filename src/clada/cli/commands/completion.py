"""`clada completion`: prints scripts that complete commands, flags, values and run numbers."""

from __future__ import annotations

from clada.cli.flags import COMMANDS, KNOWN, MAIN
from clada.settings import BY_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.cli.flags import Command
    from clada.settings import Setting

# Lists the numbers of runs: the first word of each line but the header.
RUNS = r"clada history 2>/dev/null | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p'"
RUNS_IN_FISH = r'clada history 2>/dev/null | string replace -rf "^ *([0-9]+) .*" "\$1"'
COMMON_FLAGS = ("help", "version")
FILE, DIRECTORY = "FILE", "DIR"  # placeholders for paths in the help


def completion(_options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the completion script for a shell."""
    console.write("\n".join(SCRIPTS[arguments[0]]()) + "\n")
    return 0


def _flags(command: Command) -> list[Setting]:
    return [command.setting(name) for name in command.flags]


def _first_words(name: str, command: Command) -> Sequence[str]:
    return tuple(COMMANDS) if name == "help" else command.words


def _later_words(name: str) -> Sequence[str]:
    """Return what may follow the first argument: after `config get` the name of a setting."""
    return tuple(BY_NAME) if name == "config" else ()


def _flag_words(command: Command) -> str:
    """Return the flags of a command; those that take a value end in an equals sign."""
    own = [f"--{flag.dashed}" + ("" if flag.kind == "switch" else "=") for flag in _flags(command)]
    return " ".join([*own, *(f"--{name}" for name in COMMON_FLAGS)])


# bash


def _bash() -> Iterator[str]:
    yield '# bash completion for clada: eval "$(clada completion bash)"'
    yield from BASH_START
    for flag in KNOWN.values():
        if flag.kind != "switch":
            yield f"        --{flag.dashed}) {_bash_value(flag)}; return;;"
    yield from BASH_MIDDLE
    for name, command in COMMANDS.items():
        first, later = f"'{' '.join(_first_words(name, command))}'", f"'{' '.join(_later_words(name))}'"
        if command.takes_run:
            later = f'"$({RUNS})"'
            first = first if command.words else '"$later"'
        yield f"        {name}) flags='{_flag_words(command)}' later={later}"
        yield f"            words={first}"
        yield f"            files={'1' if command.takes_file else ''};;"
    yield f"        *) flags='{_flag_words(MAIN)}' words='{' '.join(COMMANDS)}' files=1;;"
    yield from BASH_END


def _bash_value(flag: Setting) -> str:
    if flag.choices:
        return f"COMPREPLY=($(compgen -W '{' '.join(flag.choices)}' -- \"$word\"))"
    if flag.value == DIRECTORY:
        return 'COMPREPLY=($(compgen -d -- "$word"))'
    if flag.value == FILE:
        return 'COMPREPLY=($(compgen -f -- "$word"))'
    return "COMPREPLY=()"


BASH_START = """\
_clada() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local command='' flags words later='' files each skip='' is_later=''
    # bash takes --flag=value apart at the equals sign
    if [[ $word == '=' ]]; then
        word=''
    elif [[ $before == '=' ]]; then
        before="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    COMPREPLY=()
    case "$before" in""".split("\n")
BASH_MIDDLE = """\
    esac
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $each == '=' ]]; then skip=1; continue; fi
        if [[ $skip || $each == -* ]]; then skip=''; continue; fi
        if [[ $command ]]; then is_later=1; else command="$each"; fi
    done
    case "$command" in""".split("\n")
BASH_END = """\
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
        return
    fi
    if [[ $is_later ]]; then words="$later"; fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [[ $files ]]; then
        compopt -o filenames
        COMPREPLY+=($(compgen -f -- "$word"))
    fi
}
complete -F _clada clada""".split("\n")


# zsh


def _zsh() -> Iterator[str]:
    yield "#compdef clada"
    yield '# zsh completion for clada: eval "$(clada completion zsh)", after compinit'
    yield "_clada() {"
    yield "    local command=${words[(r)(" + "|".join(COMMANDS) + ")]}"
    yield "    case $command in"
    for name, command in COMMANDS.items():
        yield f"    {name})"
        operands = [f"'1:command:({name})'"]
        if first := _first_words(name, command):
            operands.append(f"'2:which:({' '.join(first)})'")
        if later := _later_words(name):
            operands.append(f"'3:which:({' '.join(later)})'")
        if command.takes_run:
            operands.append(f"'*:run:('\"$({RUNS})\"')'")
        if command.takes_file:
            operands.append("'*:document:_files'")
        yield from _zsh_arguments(command, *operands)
    yield "    *)"
    commands = " ".join(f"{name}\\:{_quote_for_zsh(command.meaning)}" for name, command in COMMANDS.items())
    both = f'\'1: :{{_alternative "commands:command:(({commands}))" "files:document:_files"}}\''
    yield from _zsh_arguments(MAIN, both)
    yield "    esac"
    yield "}"
    yield "compdef _clada clada"


def _zsh_arguments(command: Command, *operands: str) -> Iterator[str]:
    yield "        _arguments \\"
    for flag in _flags(command):
        yield f"            {_zsh_flag(flag)} \\"
    yield "            '--help[show help]' '--version[show the version]' \\"
    yield f"            {' '.join(operands)}"
    yield "        ;;"


def _zsh_flag(flag: Setting) -> str:
    meaning = flag.meaning.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    repeated = "*" if flag.kind == "list" else ""
    if flag.kind == "switch":
        return f"'--{flag.dashed}[{meaning}]'"
    action = f"({' '.join(flag.choices)})" if flag.choices else ""
    action = {"DIR": "_files -/", "FILE": "_files"}.get(flag.value, action)
    return f"'{repeated}--{flag.dashed}=[{meaning}]:{flag.value or 'which'}:{action}'"


def _quote_for_zsh(text: str) -> str:
    """Return a description for zsh's list of commands, where it is inside two levels of quotes."""
    kept = text.replace("'", "").replace('"', "").replace(":", "\\:")
    return "".join(f"\\{char}" if char in " ();" else char for char in kept)


# fish


def _fish() -> Iterator[str]:
    yield "# fish completion for clada: clada completion fish | source"
    yield "complete -c clada -e"
    none = f"not __fish_seen_subcommand_from {' '.join(COMMANDS)}"
    for name, command in COMMANDS.items():
        yield f"complete -c clada -n '{none}' -a {name} -d {_quote_for_fish(command.meaning)}"
    yield from _fish_flags(MAIN, none)
    for name, command in COMMANDS.items():
        seen = f"__fish_seen_subcommand_from {name}"
        if not command.takes_file:
            yield f"complete -c clada -n '{seen}' -f"
        first = " ".join(_first_words(name, command))
        if first:
            is_first = f"{seen}; and not __fish_seen_subcommand_from {first}" if name != "help" else seen
            yield f"complete -c clada -n '{is_first}' -f -a '{first}'"
        is_later = f"{seen}; and __fish_seen_subcommand_from {first}" if first else seen
        if command.takes_run:
            yield f"complete -c clada -n '{is_later}' -f -a '({RUNS_IN_FISH})'"
        if later := _later_words(name):
            yield f"complete -c clada -n '{is_later}' -f -a '{' '.join(later)}'"
        yield from _fish_flags(command, seen)
    yield "complete -c clada -s h -l help -d 'show help'"
    yield "complete -c clada -s V -l version -d 'show the version'"


def _fish_flags(command: Command, condition: str) -> Iterator[str]:
    for flag in _flags(command):
        start = f"complete -c clada -n '{condition}' -l {flag.dashed} -d {_quote_for_fish(flag.meaning)}"
        if flag.kind == "switch":
            yield start
        elif flag.choices:
            yield f"{start} -x -a '{' '.join(flag.choices)}'"
        elif flag.value == DIRECTORY:
            yield f"{start} -x -a '(__fish_complete_directories)'"
        else:
            yield f"{start} -{'r' if flag.value == FILE else 'x'}"


def _quote_for_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
