"""What a person sees of a batch: a bar on a terminal, lines elsewhere."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

from clada.cli import main

if TYPE_CHECKING:
    import pytest
    from tests.cli.conftest import Shell, Terminals, Tmux

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
LINE = re.compile(r"\d of 3 jobs, [\d,.]+/s, \d not applied, (\S+ s|\?) left")


def fill(shell: Shell) -> None:
    (shell.workspace / "w").mkdir()
    documents = [WRITE, "nothing", WRITE]
    jobs = [{"id": number, "path": "w", "document": document} for number, document in enumerate(documents)]
    shell.write("jobs.jsonl", "".join(f"{json.dumps(job)}\n" for job in jobs))


def test_a_bar_on_a_terminal(shell: Shell, terminal: Terminals) -> None:
    fill(shell)
    code, seen = terminal("batch", "jobs.jsonl", "--out=results.jsonl").end()
    assert code == 0
    assert LINE.search(seen) or "starting" in seen
    assert "────" in seen
    assert re.search(r"clada: 3 jobs in \S+ s: 2 applied, 1 invalid\r\n", seen)


def test_an_interrupt_leaves_nothing_of_the_bar(shell: Shell, tmux: Tmux) -> None:
    """Although the terminal shows the key behind it."""
    (shell.workspace / "w").mkdir()
    here = shell.workspace
    wait = f'open("{here}/begun", "w")\nwhile not os.path.exists("{here}/go"): time.sleep(0.01)'
    command = f"{sys.executable} -c 'import os, time\n{wait}'"
    job = {"path": "w", "document": f"<---RUN--->\n{command}\n<---END--->\n",
           "options": {"approve": [command], "sandbox": "off"}}  # fmt: skip
    jobs = [json.dumps({"id": number, **job}) for number in range(2000)]
    shell.write("jobs.jsonl", "".join(f"{line}\n" for line in jobs))
    tmux.start("clear; clada batch jobs.jsonl --out=results.jsonl --workers=1; echo exit=$?")
    begun = here / "begun"  # a job that has not begun is not waited for
    tmux.until(lambda screen: "0 of 2,000 jobs" in screen and begun.exists())
    tmux("send-keys", "C-c")
    tmux.until(lambda screen: "stopping" in screen)
    (here / "go").touch()
    seen = tmux.until(lambda screen: "exit=130" in screen)
    expected = (
        r"clada: stopping; 1 job still running; press Ctrl-C again to end at once\n"
        r"clada: 1 job in \S+ s: 1 applied\n"
        r"clada: stopped; 1,999 of 2,000 jobs left\n"
        r"  clada batch jobs.jsonl --out=results.jsonl --resume\nexit=130"
    )
    assert re.match(expected, seen)


def test_lines_elsewhere(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(shell)
    monkeypatch.chdir(shell.workspace)
    monkeypatch.setattr("clada.cli.commands.batch.EVERY", 0.0)  # seconds; ten are too long for a test
    assert main(["batch", "jobs.jsonl", "--out=results.jsonl"]) == 0
    *lines, last = capfd.readouterr().err.splitlines()
    assert lines
    assert [line for line in lines if not LINE.fullmatch(line.removeprefix("clada: "))] == []
    assert re.fullmatch(r"clada: 3 jobs in \S+ s: 2 applied, 1 invalid", last)
