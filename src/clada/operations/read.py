"""read: show a file, or some lines of it, to the model."""

from __future__ import annotations

from clada.errors import CladaError
from clada.grammar import Field, read_range
from clada.model import Done, Note, Operation, Phrases
from clada.text.escape import escape_controls
from clada.text.line_endings import to_lf
from clada.world.files.paths import display_path
from clada.world.files.tree import existing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from clada.world.world import World

LARGEST = 16 << 20  # bytes of a file that is read
MOST_LINES, MOST_CHARACTERS = 2000, 100_000  # of one read; the model asks for the rest
NEEDS_APPROVAL = "looks like a secret, and needs approval"
QUESTION = "{} looks like a secret. Show it to the model?"


class Read(Operation):
    """Show a file, or a range of its lines, in the report for the model. Nothing is changed."""

    path: str
    lines: str | None = None  # 10, 10-60 or 10-
    dialect: str = ""

    name: ClassVar = "read"
    fields: ClassVar = (Field("path", "path"), Field("lines", "range", required=False))
    only_its_paths: ClassVar = True
    changes_files: ClassVar = False
    phrases: ClassVar = {
        "read": Phrases(
            done=("{target} ({bytes}{remarks})", "read {target} ({bytes}{remarks})"),
            planned=("{target} (would read, {bytes}{remarks})", "would read {target} ({bytes}{remarks})"),
        ),
    }

    def apply(self, world: World) -> Done:
        """Keep the lines as the output of this task, escaped and without the values of secrets."""
        files = world.files
        parts = files.locate(self.path)
        path, size = display_path(parts), existing(files, parts).size
        if size > LARGEST:
            raise CladaError("input_too_large", f"has {size:,} bytes, and at most {LARGEST:,} are read")
        is_secret = world.secrets.names(path)
        if is_secret and not world.ask_user(QUESTION.format(path)):
            raise CladaError("permission_denied", NEEDS_APPROVAL, "the setting reveal shows it")
        data = files.text(parts).data
        lines, remarks = self._chosen(to_lf(data).decode().removeprefix("\ufeff"))
        if not world.settings.dry_run:
            world.secrets.refresh()
            mask = (lambda text: text) if is_secret else world.secrets.mask
            world.keep([escape_controls(mask(line)) for line in lines])
            if not is_secret and world.settings.record != "none":
                from clada.world.record.seen import remember  # late: it loads the record

                note = remember(files.root, [(path, data)])
                if note:
                    world.emit(Note(note))
        return Done("read", self.path, bytes=len(data), remarks=remarks)

    def _chosen(self, text: str) -> tuple[list[str], tuple[str, ...]]:
        """Return the lines that were asked for, as many as one read shows, and which these are."""
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        first, last = read_range(self.lines or "1-") or (1, None)
        if first > max(1, len(lines)):
            raise CladaError("invalid_operation", f"has only {len(lines):,} lines")
        wanted = lines[first - 1 : last]
        shown, room = list[str](), MOST_CHARACTERS
        for line in wanted[:MOST_LINES]:
            room -= len(line)
            if room < 0 and shown:
                break
            shown.append(line[:MOST_CHARACTERS])
        if len(shown) == len(lines):
            return shown, ("its line was cut off",) if room < 0 else ()
        end = first + len(shown) - 1
        remark = f"{f'line {first}' if end == first else f'lines {first}-{end}'} of {len(lines)}"
        return shown, (remark, f"ask for {end + 1}-{first + len(wanted) - 1}") if shown != wanted else (
            remark,
        )
