"""Random operations against a plain model of a tree: the disk and the overlay both do what the model does."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clada.errors import CladaError
from clada.model import Done
from clada.operations import find
from clada.settings import Settings
from clada.world.files.overlay import Overlay
from clada.world.files.tree import walk
from clada.world.files.workspace import Workspace
from clada.world.world import World

if TYPE_CHECKING:
    from clada.world.files.tree import Files

Parts = tuple[str, ...]
Tree = dict[Parts, bytes | None]  # None is a directory

parts = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple)
texts = st.text(alphabet="xy\n", max_size=6)
# Where an operation happens: mostly at, or in, something that is there, lest most operations find nothing.
wheres = st.tuples(st.sampled_from(["there", "there", "in", "anywhere"]), st.integers(0, 7), parts)


class Refused(Exception):  # noqa: N818 (it carries the type of an error, as CladaError does)
    """What the model says when an operation is to fail."""


class Model:
    """What operations do to a tree, written down as plainly as it goes."""

    def __init__(self, tree: Tree) -> None:
        self.tree = dict(tree)

    def write(self, path: Parts, content: str, *, append: bool) -> str:
        """Write or append; return how it went."""
        self._make_way(path)
        if path in self.tree and self.tree[path] is None:
            raise Refused("permission_denied")
        new, old = content.encode(), self.tree.get(path)
        self._make_parents(path)
        if old is None:
            self.tree[path] = new
            return "created"
        if append:
            self.tree[path] = old + (b"\n" if old and new and not old.endswith(b"\n") else b"") + new
            return "appended" if new else "unchanged"
        self.tree[path] = new
        return "unchanged" if old == new else "overwritten"

    def edit(self, path: Parts, search: str, replace: str, count: int | str) -> str:
        """Replace, if the number is right."""
        if path not in self.tree:
            raise Refused("file_not_found")
        old = self.tree[path]
        if old is None:
            raise Refused("permission_denied")
        found = old.count(search.encode())
        if not (found if count == "all" else found == count):
            raise Refused("match_count_mismatch")
        self.tree[path] = old.replace(search.encode(), replace.encode())
        return "edited"

    def move(self, source: Parts, target: Parts, *, slash: bool) -> str:
        """Move a file or a directory."""
        if source not in self.tree:
            raise Refused("file_not_found")
        is_directory = self.tree[source] is None
        if self._is_directory(target) or (slash and not is_directory):
            target = (*target, source[-1])
        if target[: len(source)] == source:
            raise Refused("permission_denied")
        self._make_way(target)
        if target in self.tree and (is_directory != self._is_directory(target) or self._below(target)):
            raise Refused("permission_denied")
        self._make_parents(target)
        for old in [source, *self._below(source)]:
            self.tree[(*target, *old[len(source) :])] = self.tree.pop(old)
        return "moved"

    def remove(self, path: Parts) -> str:
        """Remove a file, or a directory with all in it."""
        if path not in self.tree:
            raise Refused("file_not_found")
        for old in [path, *self._below(path)]:
            del self.tree[old]
        return "removed"

    def _below(self, top: Parts) -> list[Parts]:
        return [path for path in self.tree if path[: len(top)] == top and path != top]

    def _is_directory(self, path: Parts) -> bool:
        return path in self.tree and self.tree[path] is None

    def _make_way(self, path: Parts) -> None:
        if any(self.tree.get(path[:size]) is not None for size in range(1, len(path))):
            raise Refused("permission_denied")

    def _make_parents(self, path: Parts) -> None:
        for size in range(1, len(path)):
            self.tree[path[:size]] = None


def disk(top: Path) -> Tree:
    """Return the tree that is on disk."""
    return {
        path.relative_to(top).parts: path.read_bytes() if path.is_file() else None for path in top.rglob("*")
    }


def seen(files: Files) -> Tree:
    """Return the tree as the workspace or the overlay shows it."""
    return {place: files.load(place) if entry.kind == "file" else None for place, entry in walk(files, ())}


def contents(tree: Tree) -> dict[str, bytes]:
    """Return the files of a tree."""
    return {"/".join(path): data for path, data in tree.items() if data is not None}


class Operations(RuleBasedStateMachine):
    """The same operations happen to the model, to a directory, and to an overlay over another one."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="clada-model-"))
        for name in ("changed", "kept"):
            (self.top / name).mkdir()

    @initialize(
        tree=st.dictionaries(parts, texts, max_size=4),
        empty=st.lists(parts, max_size=2),
    )
    def start(self, tree: dict[Parts, str], empty: list[Parts]) -> None:
        """Begin with some files and directories."""
        model = Model({})
        for path, content in tree.items():
            self._try(model, "write", path=path, content=content, append=False)
        for path in empty:
            self._try(model, "write", path=(*path, "file"), content="", append=False)
            self._try(model, "remove", path=(*path, "file"))
        self.initial, self.model = dict(model.tree), model
        for name in ("changed", "kept"):
            self._put(self.top / name)
        self.workspace = Workspace(str(self.top / "changed"))
        self.overlay = Overlay(Workspace(str(self.top / "kept")))

    def _put(self, top: Path) -> None:
        for path, data in self.initial.items():
            place = top.joinpath(*path)
            if data is None:
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)

    def _place(self, where: tuple[str, int, Parts]) -> Parts:
        how, number, path = where
        places = sorted(self.model.tree)
        if how == "in":
            places = [place for place in places if self.model.tree[place] is None]
        if how == "anywhere" or not places:
            return path
        place = places[number % len(places)]
        return place if how == "there" else (*place, path[-1])

    @rule(where=wheres, content=texts, append=st.booleans())
    def write(self, where: tuple[str, int, Parts], content: str, append: bool) -> None:
        """Write or append."""
        self._all("write", {"path": self._place(where)}, content=content, append=append)

    @rule(where=wheres, search=texts.filter(bool), replace=texts, count=st.sampled_from([1, 2, "all"]))
    def edit(self, where: tuple[str, int, Parts], search: str, replace: str, count: int | str) -> None:
        """Edit; a short text is often found."""
        fields = {"search": search[:2], "replace": replace, "count": count}
        self._all("edit", {"path": self._place(where)}, **fields)

    @rule(source=wheres, to=wheres, slash=st.booleans())
    def move(self, source: tuple[str, int, Parts], to: tuple[str, int, Parts], slash: bool) -> None:
        """Move."""
        old, new = self._place(source), self._place(to)
        expected = self._try(self.model, "move", source=old, target=new, slash=slash)
        self._check("move", {"from": "/".join(old), "to": "/".join(new) + ("/" if slash else "")}, expected)

    @rule(where=wheres)
    def remove(self, where: tuple[str, int, Parts]) -> None:
        """Remove."""
        self._all("remove", {"path": self._place(where)})

    def _all(self, name: str, places: dict[str, Parts], **fields: Any) -> None:
        expected = self._try(self.model, name, **places, **fields)
        self._check(name, {**{key: "/".join(path) for key, path in places.items()}, **fields}, expected)

    def _check(self, name: str, fields: dict[str, Any], expected: str) -> None:
        for files in (self.workspace, self.overlay):
            assert _outcome(files, name, fields) == expected, (type(files).__name__, name, fields)

    @staticmethod
    def _try(model: Model, name: str, **fields: Any) -> str:
        before = dict(model.tree)
        try:
            return str(getattr(model, name)(**fields))
        except Refused as refused:
            model.tree = before
            return str(refused)

    @invariant()
    def the_disk_and_the_overlay_show_the_model(self) -> None:
        """Neither has more, or less."""
        if hasattr(self, "overlay"):
            self.workspace.flush()
            assert disk(self.top / "changed") == self.model.tree
            assert seen(self.workspace) == self.model.tree
            assert seen(self.overlay) == self.model.tree

    @invariant()
    def the_overlay_changes_nothing_on_disk(self) -> None:
        """And it knows exactly what differs from it."""
        if hasattr(self, "overlay"):
            assert disk(self.top / "kept") == self.initial
            old, new = contents(self.initial), contents(self.model.tree)
            changed = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
            expected = {path: (old.get(path), new.get(path)) for path in changed}
            assert {path: (before, after) for path, before, after in self.overlay.changes()} == expected

    def teardown(self) -> None:
        """Close and remove everything."""
        if hasattr(self, "overlay"):
            self.workspace.close()
            self.overlay.under.close()
        shutil.rmtree(self.top)


def _outcome(files: Files, name: str, fields: dict[str, Any]) -> str:
    try:
        kind = find(name)
        assert kind
        world = World(files, Settings(), lambda _event: None)
        outcome = kind.from_fields(1, (0, 0), {}, fields).apply(world)
    except CladaError as trouble:
        return trouble.error.type
    assert isinstance(outcome, Done)
    return outcome.how


TestOperations = Operations.TestCase
TestOperations.settings = settings(
    max_examples=20,
    stateful_step_count=30,
    deadline=None,
    database=None,  # the checkout may be read-only
    suppress_health_check=list(HealthCheck),
)
