"""What action.yml runs: applies an answer, and writes outputs and a summary as GitHub's runner wants them.

All inputs come by environment variables. None of them, and nothing of the answer, can become a command of the
runner: outputs have random delimiters, the summary is fenced, and the log has commands switched off.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from secrets import token_hex
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCE))

import clada  # noqa: E402 (from the source of the action; nothing is installed)

MAX_SUMMARY = 500_000  # characters; the runner takes a megabyte
MAX_OUTPUT = 100_000
PLAN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from clada.cli import start; start()"


def main() -> int:
    """Apply the answer that the inputs name; return the exit code of clada."""
    try:
        answer, options = read_answer(), read_options()
    except ValueError as error:
        print(f"clada: {error}", file=sys.stderr)
        return 2
    if page := os.environ.get("INPUT_PLAN"):
        write_plan(answer, options["workspace"], page)
    try:
        report = clada.execute(answer, **options)
    except (clada.CladaError, ValueError) as error:
        print(f"clada: {error}", file=sys.stderr)
        return 2
    token = token_hex(16)
    print(f"::stop-commands::{token}\n{report.text()}\n::{token}::", flush=True)
    text = report.text(for_llm=True)
    write_output("exit-code", str(report.exit_code))
    write_output("commits", "\n".join(filter(None, (report.commits.get(which) for which in ("pre", "post")))))
    write_output("report", text[:MAX_OUTPUT])
    append_to("GITHUB_STEP_SUMMARY", f"### clada\n\n{fenced(text[:MAX_SUMMARY])}\n")
    return report.exit_code


def read_answer() -> bytes:
    """Return the answer: the text itself, a file, or the only file of an artifact."""
    names = ("INPUT_ANSWER", "INPUT_FILE", "INPUT_ARTIFACT")
    given = [name for name in names if os.environ.get(name)]
    if len(given) != 1:
        raise ValueError("give one of the inputs answer, file and artifact")
    value = os.environ[given[0]]
    if given[0] == "INPUT_ANSWER":
        return value.encode(errors="surrogateescape")
    try:
        if given[0] == "INPUT_FILE":
            return Path(value).read_bytes()
        files = [path for path in Path(value).rglob("*") if path.is_file()]
        if len(files) != 1:
            raise ValueError(f"the artifact must hold one file, not {len(files)}")
        return files[0].read_bytes()
    except OSError as error:
        raise ValueError(f"the answer cannot be read: {(error.strerror or str(error)).lower()}") from None


def read_options() -> dict[str, Any]:
    """Return the options of the run. The repository's own configuration does not count."""
    commands = [line.strip() for line in os.environ.get("INPUT_APPROVE", "").splitlines()]
    return {
        "workspace": os.environ.get("INPUT_WORKSPACE") or ".",
        "approve": [line for line in commands if line],
        "sandbox": os.environ.get("INPUT_SANDBOX") or "require",
        "record": os.environ.get("INPUT_RECORD") or "none",
        "dry_run": os.environ.get("INPUT_DRY_RUN", "").lower() == "true",
    }


def write_plan(answer: bytes, workspace: str, page: str) -> None:
    """Write the plan as an HTML page; a plan in which something fails is a page, too."""
    words = ["plan", f"--workspace={workspace}", f"--html={page}"]
    subprocess.run(
        [sys.executable, "-I", "-c", PLAN, str(SOURCE), *words],
        input=answer, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def write_output(name: str, value: str) -> None:
    """Set an output of the step. A text cannot contain the delimiter, which is made for it."""
    delimiter = token_hex(16)
    append_to("GITHUB_OUTPUT", f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def append_to(variable: str, text: str) -> None:
    """Append to a file that the runner named in a variable."""
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)


def fenced(text: str) -> str:
    """Return a text in a fence that is longer than any in it."""
    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


if __name__ == "__main__":
    sys.exit(main())
