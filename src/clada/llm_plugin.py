"""`llm clada "TASK"`: a loop with any model that the program llm knows. A plugin of llm; needs clada[llm].

The model gets the instructions, the named files and the task. Its answer is carried out, and the report goes
back to it, until it answers without operations, everything was carried out, or the rounds are over.
A round after which the command of --verify is worse than before is rolled back.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
import llm

import clada

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 5


@llm.hookimpl
def register_commands(cli: click.Group) -> None:
    """Add `llm clada`."""
    cli.add_command(command)


@llm.hookimpl
def register_template_loaders(register: Any) -> None:
    """Add templates: `clada:csl` and one for each other notation."""
    register("clada", template)


def template(notation: Any) -> llm.Template:
    """Return a template whose system prompt tells a model how to answer."""
    instructions = clada.instructions(notation or None).replace("$", "$$")  # a template replaces $name
    return llm.Template(name=f"clada:{notation}", system=instructions)


def _save_template() -> None:
    folder = llm.user_dir() / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "clada.yaml"
    path.write_text(json.dumps({"system": template("").system}), encoding="utf-8")  # JSON is YAML
    click.echo(f"saved {path}: llm -t clada")


@click.command("clada")
@click.argument("task", required=False)
@click.option("model_name", "-m", "--model", help="Model to use; else the default of llm.")
@click.option("files", "-f", "--file", multiple=True, help="File, directory or glob to show to the model.")
@click.option(
    "--verify", help="Command that must pass at the end; a round that makes it worse is rolled back."
)
@click.option("--rounds", default=ROUNDS, show_default=True, help="Answers of the model at most.")
@click.option("-C", "--workspace", default=".", show_default=True, help="Directory to work in.")
@click.option("--save-template", is_flag=True, help="Save the template for `llm -t clada`, and end.")
def command(  # noqa: PLR0913, PLR0917 (a parameter for each option)
    task: str | None,
    model_name: str | None,
    files: Sequence[str],
    verify: str | None,
    rounds: int,
    workspace: str,
    save_template: bool,
) -> None:
    """Let a model change files and run allowed commands until TASK is done.

    Each round is recorded: `clada undo` reverts it.
    """
    if save_template:
        _save_template()
        return
    if not task:
        raise click.UsageError("Missing argument 'TASK'.")
    try:
        model: Any = llm.get_model(model_name)
        done = _work(model.conversation(), _first_prompt(task, files, workspace), verify, rounds, workspace)
    except (clada.CladaError, clada.UsageError, llm.UnknownModelError) as error:
        raise click.ClickException(str(error.args[0])) from None  # str() of a KeyError has quotes
    if not done:
        raise click.ClickException(f"not done after {rounds} rounds; clada undo reverts the last one")


def _first_prompt(task: str, files: Sequence[str], workspace: str) -> str:
    closing = "When everything is done, say so without any operation."
    if files:
        return clada.pack(files, workspace=workspace, ask=f"{task}\n\n{closing}").text
    return f"{clada.instructions(None, workspace)}\n# Task\n\n{task}\n\n{closing}\n"


def _work(conversation: Any, prompt: str, verify: str | None, rounds: int, workspace: str) -> bool:
    """Ask and carry out until the work is done; return whether it is."""
    options = clada.load_options(workspace)
    checks = [*options.get("verify", ()), *([verify] if verify else [])]
    applying: clada.Options = {**options, "verify": checks}
    ask = _ask if sys.stdin.isatty() else None
    for number in range(1, rounds + 1):
        answer = conversation.prompt(prompt).text()
        report = clada.execute(answer, ask=ask, **applying)
        click.echo(f"round {number}:\n{report.text() or answer}")
        # A model that has read something, or run a command, wants to go on.
        is_over = not report.tasks or (report.ok and not any(task.output for task in report.tasks))
        if is_over and not report.fatal:
            report = _verify(verify, options) if verify else report
            if report.ok or not (verify or report.not_applied):
                return True
        prompt = report.text(for_llm=True)
    return False


def _verify(verify: str, options: clada.Options) -> clada.Report:
    """Run the command that must pass."""
    start = options.get("start_delimiter", "<---")
    end = options.get("end_delimiter", "--->")
    approved = [*options.get("approve", ()), verify]
    check: clada.Options = {**options, "approve": approved, "record": "none", "again": True}
    report = clada.execute(f"{start}RUN{end}\n{verify}\n{start}END{end}\n", **check)
    click.echo(f"verify:\n{report.text()}")
    return report


def _ask(command: str, directory: str, reason: str, *, network: bool) -> clada.Answer | None:
    """Ask the person at the terminal about a command."""
    del network  # an answer here does not grant it
    click.echo(f"command: {clada.visible(command)}\ndirectory: {directory}\nbecause: {clada.visible(reason)}")
    return "once" if click.confirm("May it run?") else "no"
