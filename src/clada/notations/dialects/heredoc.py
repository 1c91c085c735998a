r"""heredoc: files that the commands in a shell's fence write; with --run-fences, its other commands too.

    fence   = ```bash | ```sh | … { command } ```
    command = cat > P <<D | cat >> P <<D | cat <<D > P | tee [-a] P <<D [> /dev/null], then lines, then D
            | apply_patch <<D, then a patch of v4a, then D
            | cd DIR, where the next ones are
            | mkdir … | touch … | chmod …        carried out, because they are built in
            | any other                          shown and skipped; run with --run-fences
    D       = EOF | 'EOF' | "EOF" | \EOF         EOF alone only where a shell would find nothing to expand
    P       = a word without anything that a shell would expand; else it is refused, or with --run-fences run

`<<-` drops tabs at the start of lines. Commands may be joined by && before a here-document. With --run-fences
a fence without here-documents is one run, as it is. One with nothing but a patch is read by `v4a`.
"""

from __future__ import annotations

import re
from itertools import accumulate

from clada.notations.dialects.whole_names import SHELLS
from clada.notations.markdown import FENCE, LinePattern, fence_at, is_indented_code, line_end
from clada.notations.reading import UnreadableError
from clada.notations.toolcalls.arguments import RefusedCallError
from clada.notations.toolcalls.tools import Call, Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match

    from clada.model import Invalid, Operation
    from clada.notations.markdown import Fence
    from clada.notations.reading import Reading, Span

NAME = "heredoc"
UNCLOSED = "Unterminated here-document: there is no line {} below it"
UNCLOSED_FENCE = "Unterminated commands: this block is not closed"
EXPANDS = 'a shell would expand "{}"; quote the delimiter'
NOT_LITERAL = "a shell would expand {}: write the path itself"
BUILT_IN = ("mkdir", "touch", "chmod")
_START = LinePattern(FENCE + rb"(?=\n|\Z)")
_SHELL = rb"[ \t]*+(?i:%b)\b" % b"|".join(sorted(name.encode() for name in SHELLS))
_SHELL_FENCE = re.compile(
    rb"(?:\A|\n)[ \t]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?(?:`{3,}+|~{3,}+)%b[^`\n]*+\n([^\n]*+\n?)" % _SHELL
)
_WORD = (
    r"""(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)\""""
    r"""|(?P<plain>[^\s'"$`\\*?<>|&;()#~{}\[\]][^\s'"$`\\*?<>|&;()]*))"""
)
_MARK = r"""<<(?P<dash>-?)[ \t]*(?P<quote>['"\\]?)(?P<mark>[A-Za-z_][\w.-]*)['"]?"""
_NULL = r"(?:[ \t]*>[ \t]*/dev/null[ \t]*)?"
_ANY_WORD = r"""(?P<expands>"[^"\n]+"|[^\s'"<>|&;()#-][^\s'"<>|&;()]*)"""
_FORMS, _EXPANDING = (  # those whose path a shell would take as it is, and those of others
    tuple(
        re.compile(rf"[ \t]*(?:sudo[ \t]+)?{form}[ \t]*")
        for form in (
            rf"cat[ \t]*(?P<how>>>?)[ \t]*{word}[ \t]*{_MARK}",
            rf"cat[ \t]*{_MARK}[ \t]*(?P<how>>>?)[ \t]*{word}",
            rf"tee[ \t]+(?P<how>-a[ \t]+|--append[ \t]+)?{word}{_NULL}[ \t]*{_MARK}{_NULL}",
        )
    )
    for word in (_WORD, _ANY_WORD)
)
_EXPANDED_SIGNS = frozenset("$`~*?[{\\")
_PATCH = re.compile(rf"[ \t]*(?:apply_patch|applypatch)[ \t]*{_MARK}[ \t]*")
_ANY_MARK = re.compile(rf"(?<!<){_MARK}")
_HINT = re.compile(rb"^[^\n]*<<[^\n]*", re.MULTILINE)
_EXPANDED = re.compile(r"\$\w+|\$\{[^}\n]*\}?|\$\([^)\n]*\)?|`[^`\n]*`?|\\.?")
_PROMPT = re.compile(r"(?m)^\$ ")


class Blocks:
    """Finds and reads the fences of a shell that write files, or are to be run."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data

    def next(self, at: int, before: int | None = None) -> int | None:
        """Return where the next such fence opens, at or after a place."""
        data, end = self.data, self.reading.end
        last = end if before is None else before
        while (start := _START.start(data, at, last)) is not None:
            fence = shell_fence(data, start, end)
            if not fence or is_indented_code(data, start):
                at = line_end(data, start, end)
                continue
            if fence.language in SHELLS and self._counts(fence):
                return start
            at = fence.end
        return None

    def _counts(self, fence: Fence) -> bool:
        """Whether it writes a file, or is to be run and has a command."""
        text = self.data[fence.inside : fence.inside_end]
        if self.reading.run_fences:
            return any(line.strip() and not line.lstrip().startswith(b"#") for line in text.split(b"\n"))
        return _writes(text)

    def read(self, at: int, floor: int) -> int:  # noqa: ARG002 (it needs no name from above)
        """Read the fence that opens here; return where it ends."""
        fence = shell_fence(self.data, at, self.reading.end)
        if fence is None or not fence.closed:
            raise UnreadableError(at, UNCLOSED_FENCE, cut=True)
        text = fence.content(self.data).decode()
        lines = text.split("\n")
        if self.reading.run_fences and not any(map(_runnable_form, lines)):
            command = _without_prompts(text).strip("\n")
            self.reading.add(self.reading.make("run", at, (at, fence.end), command=command))
            return fence.end
        operations = list(_Commands(self.reading, fence, lines))
        # Together they are all of the fence.
        operations[0] = operations[0].replace(span=(at, operations[0].span[1]))
        operations[-1] = operations[-1].replace(span=(operations[-1].span[0], fence.end))
        self.reading.add(*operations, together=at if len(operations) > 1 else None)
        return fence.end


class _Commands:
    """The commands of a fence, one after the other."""

    def __init__(self, reading: Reading, fence: Fence, lines: list[str]) -> None:
        self.reading, self.fence, self.lines = reading, fence, lines
        sizes = (len(line) + 1 for line in reading.data[fence.inside : fence.inside_end].split(b"\n"))
        self.places = list(accumulate(sizes, initial=fence.inside))  # of the lines, in the document
        self.first = self.at = 0  # lines: of the command, and the next
        self.folder = ""  # the current directory of the commands

    @property
    def span(self) -> Span:
        """The offsets of the command in the document."""
        return self.places[self.first], self.places[self.at] - 1

    def __iter__(self) -> Iterator[Operation | Invalid]:
        while self.at < len(self.lines):
            line, self.first = self.lines[self.at], self.at
            self.at += 1
            while line.endswith("\\") and self.at < len(self.lines):
                line = line[:-1] + self.lines[self.at].lstrip()
                self.at += 1
            if line.strip() and not line.lstrip().startswith("#"):
                yield from self._commands(line)

    def _commands(self, line: str) -> Iterator[Operation | Invalid]:
        form = _runnable_form(line) if self.reading.run_fences else _form(line)
        *before, last = line.split("&&") if form else [line]
        for command in before:
            yield from self._command(command.strip())
        if form:
            yield from self._patch_operations(form) if form.re is _PATCH else [self._write(form)]
            return
        other = _ANY_MARK.search(last)  # of another program, to which its text belongs
        body = self._body(other) if other else None
        command = (
            last.strip() if body is None or other is None else "\n".join([last.strip(), *body, other["mark"]])
        )
        yield from self._command(_without_prompts(command))

    def _command(self, command: str) -> Iterator[Operation | Invalid]:
        word, _, rest = command.partition(" ")
        if word == "cd" and rest.strip() and not set(rest) & set("&|;<>$`*?()"):
            folder = rest.strip().strip("'\"")
            self.folder = folder if folder.startswith("/") or not self.folder else f"{self.folder}/{folder}"
            return
        where = {"dir": self.folder} if self.folder else {}
        suggested = word not in BUILT_IN and not self.reading.run_fences
        yield self.reading.make("run", self.span[0], self.span, command=command, suggested=suggested, **where)

    def _body(self, form: Match[str]) -> list[str]:
        """Return the lines of a here-document, and go on after its end."""
        tabs = "\t" if form["dash"] else ""
        for end in range(self.at, len(self.lines)):
            if self.lines[end].lstrip(tabs) == form["mark"] if tabs else self.lines[end] == form["mark"]:
                lines = self.lines[self.at : end]
                self.at = end + 1
                return [line.lstrip("\t") for line in lines] if tabs else lines
        raise UnreadableError(self.fence.start, UNCLOSED.format(form["mark"]), cut=True)

    def _write(self, form: Match[str]) -> Operation | Invalid:
        reading = self.reading
        content = "".join(f"{line}\n" for line in self._body(form))
        span = self.span
        if form.re in _EXPANDING:
            return reading.invalid("write", span[0], span, NOT_LITERAL.format(form["expands"]), "path")
        path = form["single"] or form["double"] or form["plain"]
        if self.folder and not path.startswith("/"):
            path = f"{self.folder}/{path}"
        expanded = None if form["quote"] else _EXPANDED.search(content)
        if expanded:
            return reading.invalid("write", span[0], span, EXPANDS.format(expanded.group()), path=path)
        append = (form["how"] or "").strip() in (">>", "-a", "--append")
        return reading.make("write", span[0], span, path=path, content=content, append=append)

    def _patch_operations(self, form: Match[str]) -> list[Operation | Invalid]:
        """Return the operations of a patch in a here-document."""
        text = "".join(f"{line}\n" for line in self._body(form))
        span = self.span
        try:
            return Tools(self.reading).patch_operations(
                Call("apply_patch", {}, span[0], span), text, self.folder
            )
        except RefusedCallError as refused:
            return [self.reading.invalid("edit", span[0], span, refused.message)]


def shell_fence(data: bytes, start: int, limit: int) -> Fence | None:
    """Return the fence that opens here; one of a shell's ends behind its here-documents.

    Their content may have fences of its own, except in a list, or with tabs before their end.
    """
    fence = fence_at(data, start, limit)
    while fence and fence.closed and fence.language in SHELLS and not fence.indent:
        last = data.rfind(b"<<", fence.inside, fence.inside_end)
        at = line_end(data, last, limit) if last >= 0 else fence.inside
        form = _form(data[data.rfind(b"\n", 0, at) + 1 : at].decode()) if last >= 0 else None
        if not form or form["dash"]:
            break
        other = data.find(b"<<", at, limit)  # which may belong to one whose own end was forgotten
        end = data.find(f"\n{form['mark']}\n".encode(), at, limit if other < 0 else other)
        longer = _extend_fence(data, fence, (at, end + 1), limit) if end > fence.inside_end else None
        if not longer:
            break
        fence = longer
    return fence


def _extend_fence(data: bytes, fence: Fence, body: Span, limit: int) -> Fence | None:
    """Return a fence with its end behind a here-document, if the fences in that go in pairs; else None."""
    text, signs = data[slice(*body)], data[fence.start : fence.inside].rstrip(b"\n")
    mark = signs[: len(signs) - len(signs.lstrip(signs[:1]))]
    lines = re.compile(rb"\n[ \t]*+(%b{3,}+)([^\n]*+)" % re.escape(mark[:1]))
    close = lines.search(data, body[1], limit)
    if len(lines.findall(text)) % 2 or not close or close[2].strip() or len(close[1]) < len(mark):
        return None
    return fence.replace(inside_end=close.start() + 1, end=close.end(), unclear=False)


def _form(line: str) -> Match[str] | None:
    """Return the parts of a command that writes a file, or patches some, from a here-document; else None."""
    if "<<" not in line:
        return None
    last = line.rsplit("&&", 1)[-1]
    forms = (*_FORMS, _PATCH, *_EXPANDING) if not _EXPANDED_SIGNS.isdisjoint(last) else (*_FORMS, _PATCH)
    return next((found for form in forms if (found := form.fullmatch(last))), None)


def _runnable_form(line: str) -> Match[str] | None:
    """Return the same where a command whose path a shell expands is run by one."""
    form = _form(line)
    return None if form and form.re in _EXPANDING else form


def _is_patch(line: bytes) -> bool:
    """Whether a command reads a patch, which was read by others."""
    form = _form(line.decode()) if b"patch" in line else None
    return form is not None and form.re is _PATCH


def _writes(text: bytes) -> bool:
    """Whether one of the commands writes a file."""
    forms = (_form(found.group().decode()) for found in _HINT.finditer(text)) if b"<<" in text else ()
    return any(form and form.re is not _PATCH for form in forms)


def end_of_own_fence(reading: Reading, opened: int) -> int | None:
    """Return where the fence ends that opens here, if its commands, and a patch among them, are for this."""
    fence = shell_fence(reading.data, opened, reading.end)
    if reading.chosen or not fence or fence.language not in SHELLS:
        return None
    its = reading.run_fences or _writes(reading.data[fence.inside : fence.inside_end])
    return fence.end if its else None


def _without_prompts(text: str) -> str:
    """Return commands without the `$ ` that a terminal shows before them."""
    return _PROMPT.sub("", text)


def not_run(prose: bytes) -> list[str]:
    """Return the note on the fences of a shell in a text, if there are any with commands in them."""
    firsts = (found.group(1).strip(b"`~ \t\n") for found in _SHELL_FENCE.finditer(prose))
    count = sum(bool(first) and not _is_patch(first) for first in firsts)
    if not count:
        return []
    blocks, them = ("1 shell block was", "it") if count == 1 else (f"{count:,} shell blocks were", "them")
    return [f"{blocks} not run; --run-fences runs {them}"]
