// Applies an answer from standard input, and prints each event as it happens: node wrapper.mjs [WORKSPACE] < answer.md
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// Events go to file descriptor 3, a line of JSON each; standard output and standard error stay as they are.
export async function apply(answer, workspace, onEvent) {
  const flags = ["--events=jsonl:3", "--output-mode=silent", "--summary=none", "--workspace", workspace];
  const clada = spawn(process.env.CLADA ?? "clada", flags, { stdio: ["pipe", "ignore", "inherit", "pipe"] });
  clada.stdin.end(answer);
  let report;
  for await (const line of createInterface({ input: clada.stdio[3] })) {
    const event = JSON.parse(line);
    if (event.event === "run_ended") report = event;
    onEvent(event);
  }
  return report; // ok, failed, run (its number in the history), …
}

const print = {
  task_started: (event) => `> ${event.operation} ${event.target}`,
  output: (event) => event.lines.map((line) => `  ${line}`).join("\n"),
  task_ended: ({ task }) => `${task.status} ${task.target}${task.error ? `: ${task.error.message}` : ""}`,
  note: (event) => `note: ${event.text}`,
};

let answer = "";
for await (const chunk of process.stdin.setEncoding("utf8")) answer += chunk;
const report = await apply(answer, process.argv[2] ?? ".", (event) => {
  if (print[event.event]) console.log(print[event.event](event));
});
process.exitCode = report?.ok ? 0 : 1;
