"""Clada as the edit tool of an evaluation with inspect_ai: two tasks over the same samples.

    inspect eval examples/inspect_edits.py@answers --model openai/gpt-5
    inspect eval examples/inspect_edits.py@tool_calls --model openai/gpt-5

`answers` applies what the model writes; `tool_calls` gives it a tool. Either way a failed edit is explained
to the model, which may try again. Clada runs in the sandbox of the sample: an image needs it on its PATH.
"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver, system_message, use_tools
from inspect_ai.tool import Tool, tool
from inspect_ai.util import ExecResult, sandbox

import clada

CLADA = ["clada", "--no-git", "--output-mode=silent", "--summary=llm"]
ROUNDS = 3  # answers that a model may give for one sample
SAMPLES = [
    Sample(
        input="total() in shop.py must round to two digits.",
        files={"shop.py": "def total(prices):\n    return sum(prices)\n"},
        target="python3 -c 'import shop; assert shop.total([0.1, 0.2]) == 0.3'",
    )
]


async def apply(answer: str) -> ExecResult[str]:
    """Apply an answer to the files of the sample; standard output is a report for the model."""
    return await sandbox().exec(CLADA, input=answer, timeout=60)


@solver
def apply_answers() -> Solver:
    """Generate an answer and apply it, until all of it could be applied."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for _ in range(ROUNDS):
            state = await generate(state)
            done = await apply(state.output.completion)
            if done.success:
                break
            state.messages.append(ChatMessageUser(content=done.stdout))
        return state

    return solve


@tool
def apply_edits() -> Tool:
    """Return a tool that applies edits."""

    async def execute(answer: str) -> str:
        """Change files of the project.

        Args:
            answer: The operations, in the notation of the instructions.
        """
        return (await apply(answer)).stdout

    return execute


@scorer(metrics=[accuracy()])
def check_passes() -> Scorer:
    """Score a sample by the exit code of its target, which is a shell command."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (inspect_ai names it)
        done = await sandbox().exec(["sh", "-c", target.text], timeout=60)
        return Score(value=CORRECT if done.success else INCORRECT, explanation=done.stderr)

    return score


@task
def answers() -> Task:
    """Have the model answer with edits."""
    solvers = [system_message(RULES), apply_answers()]
    return Task(SAMPLES, solver=solvers, scorer=check_passes(), sandbox="local")


@task
def tool_calls() -> Task:
    """Have the model call a tool with edits."""
    solvers = [system_message(RULES), use_tools(apply_edits()), generate()]
    return Task(SAMPLES, solver=solvers, scorer=check_passes(), sandbox="local")


# A system message of inspect_ai is a template, in which braces have a meaning.
RULES = clada.instructions("csl", ".").replace("{", "{{").replace("}", "}}")
