"""The tools, prompts and resources of `clada mcp`, as the SDK's own client sees them, in both eras."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp.shared.exceptions import MCPError
from tests.mcp.agents import Agent, Place, run, text, write

import clada

if TYPE_CHECKING:
    Shared = tuple[Place, Agent]

ROOT = Path(__file__).parents[2]
NAMES = "apply plan read search undo resume history".split()
MORE = ["write_file", "edit_file"]


def test_the_tools_have_schemas_and_honest_hints(shared: Shared) -> None:
    listed = {tool.name: tool for tool in shared[1].do("list_tools").tools}
    assert list(listed) == NAMES
    for tool in listed.values():
        for argument in tool.input_schema["properties"].values():
            assert re.search(r"\w.*Example: .", argument["description"])
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        if tool.output_schema:
            Draft202012Validator.check_schema(tool.output_schema)
    hints = {
        name: (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        for name, tool in listed.items()
        if (hints := tool.annotations)
    }
    looks, changes = (True, False, True, False), (False, True, False, True)
    assert hints == {
        "apply": changes,
        "plan": looks,
        "read": looks,
        "search": looks,
        "undo": (False, True, False, False),
        "resume": changes,
        "history": looks,
    }


def test_the_description_of_apply_has_a_document_that_works(shared: Shared) -> None:
    place, agent = shared
    (described,) = (tool.description for tool in agent.do("list_tools").tools if tool.name == "apply")
    document = described[described.index("<---WRITE") : described.rindex("<---END--->\n\n- A marker") + 11]
    place.write("src/app.py", 'def f(name):\n    return "Hello " + name\n')
    place.write("src/old.py", "")
    result = agent.call("apply", document=document)
    assert not result.is_error, text(result)
    assert (place.workspace / "src/app.py").read_text() == 'def f(name):\n    return f"Hello {name}"\n'
    assert (place.workspace / "src/new.py").exists()


def test_apply_gives_the_report_for_a_model_and_a_summary(shared: Shared) -> None:
    place, agent = shared
    result = agent.call("apply", document=write("apply/a.txt", "hello") + run("cat apply/a.txt"))
    assert not result.is_error
    number = result.structured_content["run"]
    assert text(result).splitlines() == [
        "All 2 operations were carried out.",
        "",
        "[task-2] SUCCESS: RUN - cat apply/a.txt (exit 0)",
        "  output:",
        "    hello",
        "",
        f"Recorded as run {number}; undo reverts it.",
    ]
    assert result.structured_content == {"ok": True, "run": number, "done": 2}
    assert (place.workspace / "apply/a.txt").read_text() == "hello\n"


DOCUMENTS = {
    "one": write("ratio.txt"),
    "many": "".join(write(f"ratio/{number}.txt") for number in range(30)),
    "failures": '<---SEARCH file="x"--->\nx\n<---REPLACE--->\ny\n<---END--->\n' * 20,
    "skipped": "<---TASKS--->\n" + write("../x") + write("y") * 20 + "<---END--->\n",
    "invalid": "<---WRITE--->\nx\n<---END--->\n" * 10,
    "not applied": write("a.txt", "x") + '<remove path="b"/>\n',
    "fatal": "<---WRIT--->\n",
    "nothing": "Just prose.\n",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_structured_content_is_short_and_without_nulls(shared: Shared, name: str) -> None:
    _place, agent = shared
    for tool in ("apply", "plan"):
        result = agent.call(tool, document=DOCUMENTS[name], **({"again": True} if tool == "apply" else {}))
        content = json.dumps(result.structured_content)
        assert "null" not in content
        assert len(content) <= 1.5 * len(text(result)), (content, text(result))
        assert not re.search(r"--[a-z]|clada (undo|resume|history)", text(result))


def test_nothing_recognised_is_an_error_with_an_example_of_five_lines(shared: Shared) -> None:
    place, agent = shared
    result = agent.call("apply", document="Let me fix that for you.\n")
    assert result.is_error
    assert text(result).startswith("No operations were found.\n\nNext: write each operation like this")
    example = [line.removeprefix("    ") for line in text(result).splitlines() if line.startswith("    ")]
    assert len(example) == 5
    place.write("path/to/file", "lines exactly as they are in the file\n")
    assert not agent.call("apply", document="\n".join(example)).is_error


def test_files_are_read_with_ranges_and_globs_and_never_outside(shared: Shared) -> None:
    place, agent = shared
    place.write("read/a.txt", "one\ntwo\nthree\n")
    place.write("read/b.txt", "no end")
    place.write("read/.env", "KEY=sk-123456789\n")
    place.write("read/.gitignore", ".env\n")
    (place.workspace / "read/link").symlink_to("/etc/passwd")
    result = agent.call("read", paths=["read/a.txt:2-3", "read/b*"])
    assert text(result) == (
        "==> read/a.txt (lines 2-3 of 3) <==\ntwo\nthree\n"
        "==> read/b.txt <==\nno end\n[no line break at the end of the file]\n"
    )
    for path in ("../outside", "/etc/passwd", "read/link", "read/.env", "missing.txt", ""):
        refused = agent.call("read", paths=[path])
        assert refused.is_error, path
        assert "root:" not in text(refused)
        assert "sk-1" not in text(refused)


def test_an_edit_of_a_file_that_was_read_is_merged_with_later_changes(shared: Shared) -> None:
    place, agent = shared
    lines = [f"line {number}" for number in range(1, 31)]
    place.write("seen.txt", "\n".join(lines) + "\n")
    agent.call("read", paths=["seen.txt"])
    place.write("seen.txt", "\n".join([*lines[:11], "changed", *lines[12:]]) + "\n")
    block = "seen.txt\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n"
    old, new = "\n".join(lines[9:12]), "\n".join(["LINE 10", *lines[10:12]])
    result = agent.call("apply", document=block.format(old, new))
    assert "merged: written for seen.txt" in text(result)
    merged = [*lines[:9], "LINE 10", lines[10], "changed", *lines[12:]]
    assert (place.workspace / "seen.txt").read_text().splitlines() == merged


def test_lines_are_found_by_text_and_by_regular_expression(shared: Shared) -> None:
    place, agent = shared
    place.write("found/a.py", "def greet():\n    pass\n")
    place.write("found/b.md", "Greet them.\n")
    place.write(".gitignore", "ignored.py\n")
    place.write("found/ignored.py", "def greet():\n")
    assert text(agent.call("search", pattern="greet(", paths=["found"])) == "found/a.py:1: def greet():\n"
    both = agent.call("search", pattern="^(def )?greet", paths=["found"], regex=True, ignore_case=True)
    assert text(both) == "found/a.py:1: def greet():\nfound/b.md:1: Greet them.\n"
    assert text(agent.call("search", pattern="not there at all")) == "No line matches.\n"
    wrong = agent.call("search", pattern="(", regex=True)
    assert (wrong.is_error, text(wrong)[:32]) == (True, "the regular expression is wrong:")


def test_files_are_written_and_edited_by_arguments_on_request(place: Place) -> None:
    agent = place.agent("--tools=all")
    assert [tool.name for tool in agent.do("list_tools").tools] == [*NAMES, *MORE]
    assert not agent.call("write_file", path="a.txt", content="one\ntwo\ntwo\n").is_error
    edits = [{"search": "one", "replace": "1"}, {"search": "two", "replace": "2", "count": "all"}]
    assert not agent.call("edit_file", path="a.txt", edits=edits).is_error
    assert (place.workspace / "a.txt").read_text() == "1\n2\n2\n"
    failed = agent.call("edit_file", path="a.txt", edits=[{"search": "1", "replace": "x"}, edits[1]])
    assert failed.structured_content["failures"][0]["error"] == "match_count_mismatch"
    assert (place.workspace / "a.txt").read_text() == "1\n2\n2\n"
    agent.call("undo")
    assert (place.workspace / "a.txt").read_text() == "one\ntwo\ntwo\n"


def test_the_projects_own_instructions_are_a_resource(place: Place) -> None:
    place.write("AGENTS.md", "# Rules\n\nUse tabs.\n")
    agent = place.agent()
    assert "Read the resource clada://agents first." in (agent.client.instructions or "")
    assert str(agent.do("list_resources").resources[0].uri) == "clada://agents"
    assert agent.do("read_resource", "clada://agents").contents[0].text == "# Rules\n\nUse tabs.\n"


def test_progress_comes_for_each_operation_and_output_as_messages(shared: Shared) -> None:
    _place, agent = shared
    agent.progress.clear()
    agent.told.clear()
    agent.call("apply", document=write("told.txt", "one\ntwo") + run("cat told.txt"))
    assert agent.progress == [(1, 2, "[task-1] write told.txt"), (2, 2, "[task-2] run cat told.txt")]
    assert "\n".join(agent.told).splitlines() == ["[task-2:exec] one", "[task-2:exec] two"]


def test_what_was_not_done_is_an_error(shared: Shared) -> None:
    _place, agent = shared
    result = agent.call("apply", document=write("a.txt", "x") + '<remove path="b"/>\n')
    assert (result.is_error, result.structured_content["not_applied"]) == (True, 1)
    assert "not applied: CML operation at line 4" in text(result)


def test_a_failure_is_an_error_with_the_report(shared: Shared) -> None:
    _place, agent = shared
    document = '<---SEARCH file="nowhere.txt"--->\nx\n<---REPLACE--->\ny\n<---END--->\n'
    result = agent.call("apply", document=document)
    assert result.is_error
    assert "[task-1] ERROR: SEARCH - nowhere.txt: file_not_found" in text(result)
    assert "  send next: the path of a file that exists" in text(result)
    assert result.structured_content["failures"] == [
        {"task": "1", "target": "nowhere.txt", "error": "file_not_found"}
    ]


@pytest.mark.parametrize("tool", ["apply", "plan"])
def test_the_text_of_a_failure_is_the_one_for_a_model(shared: Shared, tool: str) -> None:
    """It names no flag, because a model cannot pass one; a plan has its diff all the same."""
    _place, agent = shared
    result = agent.call(tool, document=write(f"{tool}-one.txt") + write("../outside.txt"))
    assert result.is_error
    would = "1 planned, 1 would fail" if tool == "plan" else "1 done, 1 failed"
    assert text(result).startswith(f"Of 2 operations: {would}.\n")
    assert "path_escape: the path leads out of the workspace\n" in text(result)
    assert "--allow-escape" not in text(result)
    assert ("+hi" in text(result).splitlines()) == (tool == "plan")


def test_every_notation_is_taken_and_prose_is_nothing_to_do(shared: Shared) -> None:
    place, agent = shared
    for document in ('<write path="n.xml">x</write>', '{"tasks": [{"action": "remove", "path": "n.xml"}]}'):
        assert not agent.call("apply", document=document).is_error
    assert not (place.workspace / "n.xml").exists()
    prose = text(agent.call("apply", document="Just prose."))
    assert prose.startswith("No operations were found.\n\nNext: write each operation like this")


def test_a_plan_touches_nothing(shared: Shared) -> None:
    place, agent = shared
    before = place.git("rev-list", "--all")
    result = agent.call("plan", document=write("planned.txt"))
    assert text(result).startswith("The operation would be carried out.\n\n--- /dev/null\n")
    assert "+hi" in text(result).splitlines()
    assert result.structured_content == {"ok": True, "planned": 1}
    assert not (place.workspace / "planned.txt").exists()
    assert place.git("rev-list", "--all") == before


def test_atomic_is_all_or_nothing(shared: Shared) -> None:
    place, agent = shared
    result = agent.call("apply", document=write("atomic.txt") + run("cat nowhere.txt"), atomic=True)
    assert result.structured_content["rolled_back"] == 1
    assert not (place.workspace / "atomic.txt").exists()


def test_a_run_is_verified_by_commands_that_are_allowed(shared: Shared) -> None:
    place, agent = shared
    place.write("verified.txt", "good\n")
    document = write("verified.txt", "bad")
    result = agent.call("apply", document=document, verify=["grep good verified.txt"])
    assert result.is_error
    assert (place.workspace / "verified.txt").read_text() == "good\n"
    refused = agent.call("apply", document=document, verify=["python3 -c 1"])
    assert (refused.is_error, "`python3 -c 1` is not approved" in text(refused)) == (True, True)


def test_history_undo_and_redo(shared: Shared) -> None:
    place, agent = shared
    agent.call("apply", document=write("undone.txt"))
    (last,) = agent.call("history", limit=1).structured_content["runs"]
    assert (last["what"], last["ended"]) == ("1 write: undone.txt", "ok")
    assert "undoes" not in last
    assert "would undo" in text(agent.call("undo", dry_run=True))
    assert (place.workspace / "undone.txt").exists()
    undone = agent.call("undo", run=last["run"])
    assert undone.structured_content["removed"] == ["undone.txt"]
    assert f"undone: run {last['run']} (1 write: undone.txt)" in text(undone)
    assert not (place.workspace / "undone.txt").exists()
    agent.call("undo")
    assert (place.workspace / "undone.txt").exists()
    missing = agent.call("undo", run=9999)
    assert (missing.is_error, text(missing)) == (
        True,
        "there is no run 9999 for this workspace; history lists the runs",
    )


def test_resume_does_what_was_refused(shared: Shared) -> None:
    place, agent = shared
    refused = agent.call("apply", document=write("before.txt") + run("touch-me after.txt"))
    assert "clada approvals add 'touch-me after.txt'" in text(refused)
    program = place.write("touch-me", '#!/bin/sh\necho hi > "$1"\n')
    program.chmod(0o755)
    place("approvals", "add", "touch-me after.txt")
    again = agent.call("resume")
    assert text(again).startswith("Of 2 operations: 1 done before, 1 failed.\n")
    assert again.structured_content["failures"][0]["error"] == "exec_failed"  # not on PATH


def test_the_same_document_again_is_refused_in_the_words_of_the_tools(shared: Shared) -> None:
    place, agent = shared
    document = '<---WRITE file="again.txt" append="true"--->\nx\n<---END--->\n' + run("nobody-approved-this")
    agent.call("apply", document=document)
    agent.call("resume")
    refused = agent.call("apply", document=document)
    number = agent.call("history", limit=2).structured_content["runs"][1]["run"]
    told = (
        f"already applied in part (run {number}: 1 of 2 done). Continue: resume. "
        "Start over: apply with again=true"
    )
    assert f"INPUT - {told}\n" in text(refused)
    assert (place.workspace / "again.txt").read_text() == "x\n"
    agent.call("apply", document=document, again=True)
    assert (place.workspace / "again.txt").read_text() == "x\nx\n"
    agent.call("apply", document=write("other.txt"))
    assert f"Continue: resume with run={number + 2}. " in text(agent.call("apply", document=document))


def test_what_was_all_or_nothing_is_resumed_so(shared: Shared) -> None:
    place, agent = shared
    document = write("whole.txt") + run("nobody-approved-this-either")
    agent.call("apply", document=document, atomic=True)
    assert agent.call("resume").structured_content["rolled_back"] == 1
    assert not (place.workspace / "whole.txt").exists()
    assert agent.call("resume", atomic=False).structured_content["done"] == 1


def test_instructions_are_prompts(shared: Shared) -> None:
    place, agent = shared
    for name in clada.PROMPTS:
        (message,) = agent.do("get_prompt", name).messages
        assert (message.role, message.content.text) == ("user", place("prompt", name).stdout)
    assert [prompt.name for prompt in agent.do("list_prompts").prompts] == list(clada.PROMPTS)


def test_the_documentation_and_the_last_report_are_resources(shared: Shared) -> None:
    _place, agent = shared
    pages = [page.stem for page in sorted((ROOT / "docs").glob("*.md"))]
    listed = {str(resource.uri): resource for resource in agent.do("list_resources").resources}
    assert list(listed) == ["clada://report", *(f"clada://docs/{name}" for name in pages)]
    (content,) = agent.do("read_resource", "clada://docs/output").contents
    assert content.text == (ROOT / "docs" / "output.md").read_text()
    agent.call("apply", document=write("reported.txt"))
    (report,) = agent.do("read_resource", "clada://report").contents
    assert report.text == "[task-1] SUCCESS: WRITE - reported.txt (created, 3 bytes)\n"
    number = agent.call("history", limit=1).structured_content["runs"][0]["run"]
    (recorded,) = agent.do("read_resource", f"clada://report/{number}").contents
    assert recorded.text == report.text


MISTAKES: dict[str, tuple[str, dict[str, object], str]] = {
    "no document": (
        "apply",
        {},
        "'document' is a required property; apply takes document, atomic, verify, again",
    ),
    "another type": ("apply", {"document": 1}, "document: 1 is not of type 'string'; apply takes"),
    "a number for a switch": ("apply", {"document": "", "atomic": 1}, "atomic: 1 is not of type 'boolean';"),
    "a switch for a number": ("undo", {"run": True}, "run: True is not of type 'integer'; undo takes run"),
    "no run": ("undo", {"run": 0}, "run: 0 is less than the minimum of 1; undo takes run, dry_run"),
    "no paths": ("read", {"paths": []}, "paths: [] should be non-empty; read takes paths"),
    "unknown": ("plan", {"document": "", "x": 1}, "Additional properties are not allowed ('x' was unexp"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_argument_is_named(shared: Shared, mistake: str) -> None:
    name, arguments, expected = MISTAKES[mistake]
    result = shared[1].call(name, **arguments)
    assert result.is_error
    assert text(result).startswith(expected)
    assert text(result).endswith("; nothing was done")


def test_what_is_not_there_is_named(shared: Shared) -> None:
    _place, agent = shared
    with pytest.raises(MCPError, match="not found: tool rm; there are apply, plan, read"):
        agent.call("rm")
    with pytest.raises(MCPError, match="not found: prompt yaml; there are csl, cml"):
        agent.do("get_prompt", "yaml")
    with pytest.raises(MCPError, match="not found: clada://docs/nothing; resources/list names the others"):
        agent.do("read_resource", "clada://docs/nothing")


def test_the_server_says_what_it_is(shared: Shared) -> None:
    client = shared[1].client
    assert client.protocol_version == ("2025-11-25" if client.mode == "legacy" else "2026-07-28")
    assert client.instructions
    assert "`apply` carries out a document" in client.instructions
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("clada", clada.__version__)


def test_what_is_wrong_with_the_workspace_is_told_everywhere(place: Place) -> None:
    place.write(".clada/allowed-commands.json", "damaged")
    agent = place.agent()
    with pytest.raises(MCPError, match="not found: clada://report; no run is recorded for this workspace"):
        agent.do("read_resource", "clada://report")
    with pytest.raises(MCPError, match="not found: clada://report/7; there is no run 7"):
        agent.do("read_resource", "clada://report/7")
    with pytest.raises(MCPError, match=r"allowed-commands\.json"):
        agent.do("get_prompt", "csl")
    assert agent.call("apply", document=write("a.txt")).is_error is False


def test_results_and_events_hold_no_values_of_secret_files(place: Place) -> None:
    (place.workspace / ".env").write_text("API_KEY=sk-abcdefgh\n")
    (place.workspace / "app.py").write_text("key = 'sk-abcdefgh'\n")
    agent = place.agent()
    result = agent.call("apply", document=run("cat app.py"))
    refused = agent.call("apply", document=run("cat .env"))
    assert "key = '•••(.env:API_KEY)'" in text(result)
    assert "needs approval" in text(refused)
    everything = f"{result} {refused} {agent.told} {agent.progress}"
    assert "sk-abcdefgh" not in everything
