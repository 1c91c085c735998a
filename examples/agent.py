"""An agent loop: a model answers, clada carries out the answer and reports back to the model."""

import json
import os
import sys
import urllib.request

import clada

ROUNDS, NO_OPERATIONS = 20, 3  # rounds at most; the exit code of an answer without operations


def ask(messages: list[dict[str, str]]) -> str:
    """Return the model's answer, from any server that speaks OpenAI's protocol."""
    request = urllib.request.Request(
        f"{os.environ['MODEL_URL']}/chat/completions",
        json.dumps({"model": os.environ["MODEL"], "messages": messages}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('MODEL_KEY')}"},
    )
    with urllib.request.urlopen(request) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def work(task: str, workspace: str = ".") -> bool:
    """Let the model work on a task; return whether it was done within the rounds."""
    rules = f"{clada.instructions('csl', workspace)}\nWhen all is done, say so, without any operation."
    messages = [{"role": "system", "content": rules}, {"role": "user", "content": task}]
    for _ in range(ROUNDS):
        answer = ask(messages)
        report = clada.execute(answer, **clada.load_options(workspace))
        print(report.text() or answer)
        if report.exit_code == NO_OPERATIONS:
            return True
        reply = report.text(for_llm=True)
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": reply}]
    return False


if __name__ == "__main__":
    sys.exit(0 if work(sys.argv[1]) else f"not done after {ROUNDS} rounds")
