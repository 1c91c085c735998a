"""The tools, prompts and resources of `clada mcp`, as the SDK's own client sees them, in both eras."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

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
NAMES = "apply plan undo resume history instructions".split()


def test_the_tools_have_schemas_and_honest_hints(shared: Shared) -> None:
    listed = {tool.name: tool for tool in shared[1].do("list_tools").tools}
    assert list(listed) == NAMES
    for tool in listed.values():
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
        "undo": (False, True, False, False),
        "resume": changes,
        "history": looks,
        "instructions": looks,
    }


def test_apply_gives_the_report_as_text_and_as_data(shared: Shared) -> None:
    place, agent = shared
    result = agent.call("apply", document=write("apply/a.txt", "hello") + run("cat apply/a.txt"))
    assert not result.is_error
    lines = text(result).splitlines()
    assert lines[:3] == [
        "[task-1] SUCCESS: WRITE - apply/a.txt (created, 6 bytes)",
        "[task-2:exec] hello",
        "[task-2] SUCCESS: RUN - cat apply/a.txt (exit 0)",
    ]
    assert lines[-1].startswith("Recorded as run ")
    Draft202012Validator(clada.schema("report")).validate(result.structured_content)
    assert result.structured_content["blocks"][1]["tasks"][0]["output"] == ["hello"]
    assert (place.workspace / "apply/a.txt").read_text() == "hello\n"


def test_progress_comes_for_each_operation_and_output_as_messages(shared: Shared) -> None:
    _place, agent = shared
    agent.progress.clear()
    agent.told.clear()
    agent.call("apply", document=write("told.txt", "one\ntwo") + run("cat told.txt"))
    assert agent.progress == [(1, 2, "[task-1] write told.txt"), (2, 2, "[task-2] run cat told.txt")]
    assert "\n".join(agent.told).splitlines() == ["[task-2:exec] one", "[task-2:exec] two"]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("Just prose.\n", "No operations were found."),
        (write("a.txt", "x") + '<remove path="b"/>\n', "not applied: CML operation at line 4"),
    ],
)
def test_what_was_not_done_is_an_error(shared: Shared, document: str, says: str) -> None:
    _place, agent = shared
    result = agent.call("apply", document=document)
    assert (result.is_error, result.structured_content["ok"]) == (True, False)
    assert says in text(result)


def test_a_failure_is_an_error_with_the_report(shared: Shared) -> None:
    _place, agent = shared
    document = '<---SEARCH file="nowhere.txt"--->\nx\n<---REPLACE--->\ny\n<---END--->\n'
    result = agent.call("apply", document=document)
    assert result.is_error
    assert "[task-1] ERROR: SEARCH - nowhere.txt: file_not_found" in text(result)
    assert "  send next: the path of a file that exists" in text(result)
    assert "Recorded as run " in text(result)
    assert result.structured_content["failed"] == 1


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


def test_plan_and_dry_run_touch_nothing(shared: Shared) -> None:
    place, agent = shared
    before = place.git("log", "--oneline")
    for result in (
        agent.call("plan", document=write("planned.txt")),
        agent.call("apply", document=write("planned.txt"), dry_run=True),
    ):
        assert "+hi" in text(result).splitlines()
        assert text(result).startswith("[task-1] PLAN: WRITE - planned.txt (would create, ")
        assert result.structured_content["dry_run"] is True
        assert result.structured_content["blocks"][0]["tasks"][0]["status"] == "planned"
    assert not (place.workspace / "planned.txt").exists()
    assert place.git("log", "--oneline") == before


def test_atomic_is_all_or_nothing(shared: Shared) -> None:
    place, agent = shared
    result = agent.call("apply", document=write("atomic.txt") + run("cat nowhere.txt"), atomic=True)
    assert result.structured_content["rolled_back"] == 1
    assert not (place.workspace / "atomic.txt").exists()


def test_history_undo_and_redo(shared: Shared) -> None:
    place, agent = shared
    agent.call("apply", document=write("undone.txt"))
    (last,) = agent.call("history", limit=1).structured_content["runs"]
    assert (last["what"], last["ended"], last["undoes"]) == ("1 write: undone.txt", "ok", None)
    assert "would undo" in text(agent.call("undo", dry_run=True))
    assert (place.workspace / "undone.txt").exists()
    undone = agent.call("undo", run=last["number"])
    assert undone.structured_content["removed"] == ["undone.txt"]
    assert f"undone: run {last['number']} (1 write: undone.txt)" in text(undone)
    assert not (place.workspace / "undone.txt").exists()
    agent.call("undo")
    assert (place.workspace / "undone.txt").exists()
    missing = agent.call("undo", run=9999)
    assert (missing.is_error, text(missing)) == (
        True,
        "there is no run 9999 for this workspace; clada history lists the runs",
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
    assert again.structured_content["blocks"][1]["tasks"][0]["error"]["type"] == "exec_failed"  # not on PATH


def test_the_same_document_again_is_refused_in_the_words_of_the_tools(shared: Shared) -> None:
    place, agent = shared
    document = '<---WRITE file="again.txt" append="true"--->\nx\n<---END--->\n' + run("nobody-approved-this")
    agent.call("apply", document=document)
    agent.call("resume")
    refused = agent.call("apply", document=document)
    number = agent.call("history", limit=2).structured_content["runs"][1]["number"]
    told = (
        f"parts of this were done in run {number}: resume does the rest, apply with again=true runs all of it"
    )
    assert f"INPUT - {told}\n" in text(refused)
    assert refused.structured_content["fatal"]["message"] == told
    assert (place.workspace / "again.txt").read_text() == "x\n"
    agent.call("apply", document=document, again=True)
    assert (place.workspace / "again.txt").read_text() == "x\nx\n"
    agent.call("apply", document=write("other.txt"))
    assert f"resume with run={number + 2} does the rest" in text(agent.call("apply", document=document))


def test_what_was_all_or_nothing_is_resumed_so(shared: Shared) -> None:
    place, agent = shared
    document = write("whole.txt") + run("nobody-approved-this-either")
    agent.call("apply", document=document, atomic=True)
    assert agent.call("resume").structured_content["rolled_back"] == 1
    assert not (place.workspace / "whole.txt").exists()
    assert agent.call("resume", atomic=False).structured_content["succeeded"] == 1


def test_instructions_are_a_tool_and_prompts(shared: Shared) -> None:
    place, agent = shared
    for name in clada.PROMPTS:
        expected = place("prompt", name).stdout
        assert text(agent.call("instructions", notation=name)) == expected
        (message,) = agent.do("get_prompt", name).messages
        assert (message.role, message.content.text) == ("user", expected)
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
    number = agent.call("history", limit=1).structured_content["runs"][0]["number"]
    (recorded,) = agent.do("read_resource", f"clada://report/{number}").contents
    assert recorded.text == report.text


MISTAKES: dict[str, tuple[str, dict[str, object], str]] = {
    "no document": ("apply", {}, "apply: the argument document is missing; nothing was done"),
    "another type": (
        "apply",
        {"document": 1},
        "apply: the argument document must be of type string; nothing was done",
    ),
    "a number for a switch": (
        "apply",
        {"document": "", "atomic": 1},
        "apply: the argument atomic must be of type boolean; nothing was done",
    ),
    "a switch for a number": (
        "undo",
        {"run": True},
        "undo: the argument run must be of type integer; nothing was done",
    ),
    "no run": ("undo", {"run": 0}, "undo: the argument run must be 1 or more; nothing was done"),
    "no notation": (
        "instructions",
        {"notation": "yaml"},
        f"instructions: the argument notation must be one of {', '.join(clada.PROMPTS)}; nothing was done",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_argument_is_named(shared: Shared, mistake: str) -> None:
    name, arguments, expected = MISTAKES[mistake]
    result = shared[1].call(name, **arguments)
    assert (result.is_error, text(result)) == (True, expected)


def test_what_is_not_there_is_named(shared: Shared) -> None:
    _place, agent = shared
    with pytest.raises(MCPError, match="not found: tool rm; there are apply, plan, undo"):
        agent.call("rm")
    with pytest.raises(MCPError, match="not found: prompt yaml; there are csl, cml"):
        agent.do("get_prompt", "yaml")
    with pytest.raises(MCPError, match="not found: clada://docs/nothing; resources/list names what there is"):
        agent.do("read_resource", "clada://docs/nothing")


def test_the_server_says_what_it_is(shared: Shared) -> None:
    client = shared[1].client
    assert client.protocol_version == ("2025-11-25" if client.mode == "legacy" else "2026-07-28")
    assert client.instructions
    assert "Call `instructions` once" in client.instructions
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
    result = agent.call("instructions")
    assert result.is_error
    assert "allowed-commands.json" in text(result)
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
