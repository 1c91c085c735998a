"""action.yml: its step, run as the runner of GitHub runs it, also with hostile inputs."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.plain_git import IDENTITY

ROOT = Path(__file__).parents[1]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
WRITE = '<---WRITE file="a.txt"--->\nnew\n<---END--->\n'
RUN = "<---RUN--->\nsh -c 'echo ran > b.txt'\n<---END--->\n"
HOSTILE = (
    "x\n::set-output name=exit-code::0\n::add-mask::a\nexit-code=0\nEOF\n"
    "$(touch owned) `touch owned` '; touch owned; '\n"
    '" && touch owned "\n```\n# Heading\n<img src=x onerror=alert(1)>\n${{ github.token }}\n'
)


class Runner:
    """A checked-out repository, and the files and variables that the runner gives to a step."""

    def __init__(self, top: Path) -> None:
        self.workspace, self.temp = top / "repo", top / "temp"
        self.workspace.mkdir()
        self.temp.mkdir()
        self.output, self.summary = self.temp / "output", self.temp / "summary"
        self.git("init", "-q")
        (self.workspace / "a.txt").write_text("old\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def git(self, *words: str) -> str:
        """Run git in the repository, and return what it prints."""
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=self.workspace, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def step(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the step with the shell that action.yml names, and with the variables that it passes."""
        for path in (self.output, self.summary):
            path.write_text("")
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            **dict.fromkeys(re.findall(r"^        (INPUT_\w+):", ACTION, re.MULTILINE), ""),
            **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
        }
        (line,) = re.findall(r"^      run: (.+)$", ACTION, re.MULTILINE)
        script = self.temp / "step.sh"
        script.write_text(f"{line}\n")
        return subprocess.run(
            ["sh", "-e", str(script)], cwd=self.workspace, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def outputs(self) -> dict[str, str]:
        """Return the outputs, read as the runner reads its file."""
        found, lines = {}, iter(self.output.read_text().split("\n"))
        for line in lines:
            if not line:
                continue
            name, _, delimiter = line.partition("<<")
            value = []
            for each in lines:
                if each == delimiter:
                    break
                value.append(each)
            found[name] = "\n".join(value)
        return found


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_an_answer_is_applied_and_reported(runner: Runner) -> None:
    done = runner.step(answer=WRITE)
    assert done.returncode == 0, done.stderr
    assert (runner.workspace / "a.txt").read_text() == "new\n"
    outputs = runner.outputs()
    assert (outputs["exit-code"], outputs["commits"]) == ("0", "")
    assert outputs["report"].startswith("The operation was carried out.")
    assert "The operation was carried out." in runner.summary.read_text()


def test_commits_are_an_output(runner: Runner) -> None:
    runner.step(answer=WRITE, record="commits")
    assert runner.outputs()["commits"].split("\n")[-1] == runner.git("rev-parse", "HEAD")


def test_the_answer_may_be_a_file_or_an_artifact(runner: Runner) -> None:
    (runner.temp / "--answer.md").write_text(WRITE)
    assert runner.step(file=str(runner.temp / "--answer.md"), dry_run="true").returncode == 0
    assert (runner.workspace / "a.txt").read_text() == "old\n"
    (runner.temp / "artifact").mkdir()
    (runner.temp / "artifact" / "answer.md").write_text(WRITE)
    assert runner.step(artifact=str(runner.temp / "artifact")).returncode == 0
    assert (runner.workspace / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize("inputs", [{}, {"answer": WRITE, "file": "x"}, {"file": "gone"}, {"sandbox": "x"}])
def test_wrong_inputs_are_one_line(runner: Runner, inputs: dict[str, str]) -> None:
    done = runner.step(**({"answer": WRITE} if "sandbox" in inputs else {}), **inputs)
    assert done.returncode == 2
    assert done.stderr.startswith("clada: ")
    assert "Traceback" not in done.stderr


def test_commands_need_approval_by_their_exact_text(runner: Runner) -> None:
    assert runner.step(answer=RUN, sandbox="off").returncode == 1
    assert runner.outputs()["exit-code"] == "1"
    assert not (runner.workspace / "b.txt").exists()
    approved = "make test\nsh -c 'echo ran > b.txt'\n"
    assert runner.step(answer=RUN, sandbox="off", approve=approved).returncode == 0
    assert (runner.workspace / "b.txt").read_text() == "ran\n"


def test_the_plan_is_written_as_a_page(runner: Runner) -> None:
    page = runner.temp / "plan.html"
    runner.step(answer=WRITE + RUN, plan=str(page))
    assert "<!doctype html>" in page.read_text().lower()
    assert "a.txt" in page.read_text()


def test_hostile_text_becomes_no_command_output_or_markup(runner: Runner) -> None:
    target = HOSTILE.replace("\n", " ")[:60].replace('"', "").replace("::", "")
    for answer in (
        HOSTILE,
        f'<---WRITE file="evil.txt"--->\n{HOSTILE}<---END--->\n<---RUN--->\ncat evil.txt\n<---END--->\n',
        f'<---WRITE file="{target}"--->\nx\n<---END--->\n',
    ):
        done = runner.step(answer=answer, sandbox="auto")
        lines = done.stdout.splitlines()
        stop = next(line for line in lines if line.startswith("::stop-commands::"))
        token = stop.removeprefix("::stop-commands::")
        between = lines[lines.index(stop) + 1 : lines.index(f"::{token}::")]
        assert lines[lines.index(f"::{token}::") + 1 :] == []
        assert lines[: lines.index(stop)] == []
        assert not any(line == f"::{token}::" for line in between)
        outputs = runner.outputs()
        assert set(outputs) == {"exit-code", "commits", "report"}
        assert outputs["exit-code"] == str(done.returncode)
        summary = runner.summary.read_text().split("\n")
        fence = re.match("`+", summary[2])
        assert fence
        assert not any(line.startswith(fence[0]) for line in summary[3:-2])
        assert summary[-2] == fence[0]
        assert not list(runner.workspace.glob("owned*"))


@pytest.mark.parametrize("name", ["file", "approve", "workspace", "sandbox", "record", "dry_run"])
def test_hostile_inputs_run_nothing(runner: Runner, name: str) -> None:
    done = runner.step(**{"answer": "" if name == "file" else WRITE, name: HOSTILE.replace("\n", " \n")})
    assert "Traceback" not in done.stderr
    assert not [*runner.workspace.rglob("owned"), *runner.temp.rglob("owned")]


def test_no_input_is_part_of_a_line_of_shell() -> None:
    for line in re.findall(r"^\s+run: (.+)$", ACTION, re.MULTILINE):
        assert "${{" not in line
    names = set(re.findall(r"^  ([a-z-]+):\n    description:", ACTION, re.MULTILINE))
    assert {"exit-code", "commits", "report", "answer", "file", "artifact"} <= names
