"""The loop of docs/workflows/agent-loop.md is examples/agent.py, and works with a model that errs first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOOP = ROOT / "examples" / "agent.py"
PAGE = ROOT / "docs" / "workflows" / "agent-loop.md"
WRONG, RIGHT = 'print("Hallo")', 'print( "Hallo" )'
EDIT = '<---SEARCH file="hello.py"--->\n{}\n<---REPLACE--->\nprint("Hello")\n<---END--->\n'
RUN = "<---RUN--->\npython3 hello.py\n<---END--->\n"
ANSWERS = (
    f"First I correct it.\n\n{EDIT.format(WRONG)}",
    f"Ah:\n\n{EDIT.format(RIGHT)}{RUN}",
    "All is done.",
)


class Model(HTTPServer):
    """Answers one thing after the other, whatever it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.told: list[list[dict[str, str]]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's protocol as is needed."""

    server: Model

    def do_POST(self) -> None:
        """Answer."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append(body["messages"])
        answer: Any = {"choices": [{"message": {"content": ANSWERS[len(self.server.told) - 1]}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_page_shows_the_loop_of_forty_lines() -> None:
    """What is shown is what is run."""
    loop = LOOP.read_text(encoding="utf-8")
    assert f"```py\n{loop}```\n" in PAGE.read_text(encoding="utf-8")
    assert len(loop.splitlines()) <= 40


def test_the_loop_works(tmp_path: Path) -> None:
    """The model is told how to answer, and what failed; it corrects that, and comes to an end."""
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home")}
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / "hello.py").write_text('print( "Hallo" )\n', encoding="utf-8")
    clada = [sys.executable, "-m", "clada"]
    subprocess.run([*clada, "approvals", "add", "python3 hello.py"], cwd=project, env=environment, check=True)
    model = Model()
    try:
        done = subprocess.run(
            [sys.executable, str(LOOP), "Say hello in English."],
            cwd=project,
            env={**environment, "MODEL_URL": f"http://127.0.0.1:{model.server_port}", "MODEL": "m"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        model.shutdown()
        model.server_close()
    assert (done.returncode, done.stderr) == (0, "")
    assert "[task-2:exec] Hello" in done.stdout
    assert done.stdout.endswith("All is done.\n")
    rules, task = model.told[0]
    assert rules["content"].startswith("# How to change files and run commands: CSL")
    assert "Approved here: `python3 hello.py`" in rules["content"]
    assert task == {"role": "user", "content": "Say hello in English."}
    failure = model.told[1][-1]["content"]
    assert 'print( "Hallo" )' in failure  # what the file really has
    assert model.told[2][-1]["content"].startswith("All 2 operations were carried out.")
