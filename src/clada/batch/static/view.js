"use strict";
// The page of `clada batch view`. Everything of a result is put in as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const state = { from: 0, sort: "", descending: false, open: null };
const GOOD = ["applied", "planned"];
const columns = data.columns.flatMap((name) => (name === "status" && data.other ? [name, "other"] : [name]));
const NAMES = { error_type: "error", other: "before" };

function element(name, text, ...classes) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = String(text);
  made.classList.add(...classes.filter(Boolean));
  return made;
}

// The filters and the heads of the table.

function labelled(text, control) {
  const label = element("label", text);
  label.append(control);
  by("filters").append(label);
  control.addEventListener("input", () => { state.from = 0; load(); });
}

function makeFilters() {
  const text = element("input");
  text.type = "search";
  text.name = "text";
  labelled("id or error", text);
  for (const [name, values] of Object.entries(data.choices)) {
    const select = element("select");
    select.name = name;
    const all = element("option", "all");
    all.value = "";
    select.append(all, ...values.map((value) => element("option", value)));
    labelled(NAMES[name] || name, select);
  }
  if (data.other) {
    const flipped = element("input");
    flipped.type = "checkbox";
    flipped.name = "flipped";
    labelled("flipped only", flipped);
  }
  by("filters").addEventListener("submit", (event) => event.preventDefault());
}

function makeHeads() {
  for (const name of columns) {
    const head = element("th");
    head.scope = "col";
    if (name === "other") {
      head.textContent = NAMES.other;
    } else {
      const button = element("button", NAMES[name] || name);
      button.type = "button";
      button.addEventListener("click", () => {
        state.descending = state.sort === name && !state.descending;
        state.sort = name;
        state.from = 0;
        load();
      });
      head.dataset.name = name;
      head.append(button);
    }
    by("heads").append(head);
  }
}

// The rows.

function query() {
  const asked = new URLSearchParams({ from: state.from });
  for (const control of by("filters").elements) {
    const value = control.type === "checkbox" ? (control.checked ? "1" : "") : control.value;
    if (value) asked.set(control.name, value);
  }
  if (state.sort) asked.set("sort", state.sort);
  if (state.descending) asked.set("descending", "1");
  return asked;
}

let latest = 0;
async function load() {
  const number = ++latest;
  const found = await (await fetch(`rows?${query()}`)).json();
  if (number !== latest) return; // a later filter has been asked for
  by("rows").replaceChildren(...found.rows.map(makeRow));
  const end = state.from + found.rows.length;
  const range = found.total ? `${(state.from + 1).toLocaleString("en")}–${end.toLocaleString("en")} of ` : "";
  by("count").textContent =
    `${range}${found.total.toLocaleString("en")} jobs, ${found.passed.toLocaleString("en")} passed`;
  by("previous").disabled = !state.from;
  by("next").disabled = end >= found.total;
  for (const head of by("heads").children) {
    const order = state.descending ? "descending" : "ascending";
    head.setAttribute("aria-sort", head.dataset.name === state.sort ? order : "none");
  }
}

function makeRow(row) {
  const line = element("tr", null, row.number === state.open && "open");
  for (const name of columns) {
    const cell = element("td");
    if (name === "id") {
      const button = element("button", row.id);
      button.type = "button";
      button.addEventListener("click", () => open(row.number, line));
      cell.append(button);
    } else if (name === "status") {
      cell.append(element("span", row.status, GOOD.includes(row.status) ? "good" : "bad"));
    } else if (name === "other") {
      cell.textContent = `${row.other || "–"}${row.flipped ? (row.passed ? " ▲" : " ▼") : ""}`;
    } else if (name === "seconds") {
      cell.textContent = row.seconds === null ? "" : row.seconds.toFixed(2);
    } else {
      cell.textContent = row[name] === null ? "" : String(row[name]);
    }
    line.append(cell);
  }
  return line;
}

// One job.

function lines(text) {
  const made = element("pre");
  made.tabIndex = 0;
  let isHead = false; // in the lines that name the file
  for (const line of text.replace(/\n$/, "").split("\n")) {
    isHead = line.startsWith("diff ") || (isHead && !line.startsWith("@@"));
    const kind = isHead || line.startsWith("@@") ? "hunk"
      : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    made.append(element("span", line, kind));
  }
  return made;
}

function plain(text) {
  const made = element("pre", text);
  made.tabIndex = 0;
  return made;
}

function part(title, content) {
  by("parts").append(element("h3", title), content);
}

function reportText(report) {
  const tasks = report.blocks.flatMap((block) => block.tasks);
  const said = tasks.map((task) => [
    `[${task.label}] ${task.status}: ${task.operation} ${task.target || ""}`,
    ...(task.error ? [`    ${task.error.type}: ${task.error.message}`] : []),
    ...task.output.map((line) => `    ${line}`),
  ].join("\n"));
  if (report.fatal) said.push(`${report.fatal.type}: ${report.fatal.message}`);
  return [...said, ...report.notes].join("\n") || "no operations";
}

function checkText(check) {
  const counts = check.junit ? `, ${JSON.stringify(check.junit)}` : "";
  return `$ ${check.command}\nexit code ${check.exit_code}, ${check.seconds.toFixed(2)} s${counts}\n` +
    `${check.error || ""}${check.output}`;
}

async function open(number, line) {
  state.open = number;
  for (const row of by("rows").children) row.classList.toggle("open", row === line);
  const { result, plan, other } = await (await fetch(`job?number=${number}`)).json();
  by("job").hidden = false;
  by("job-title").textContent = `${result.id}: ${result.status}`;
  by("job-error").textContent = result.error ? `${result.error_type}: ${result.error}` : "";
  by("parts").replaceChildren();
  part("Diff", result.diff === null ? plain("not known, or too long") : lines(result.diff || "no changes"));
  if (other) part(`Diff before (${other.status})`, lines(other.diff || "no changes"));
  for (const check of result.checks) part("Check", plain(checkText(check)));
  if (result.report) part("Report", plain(reportText(result.report)));
  part("Plan", plain(plan.map((item) => `${item.operation} ${item.target}`).join("\n") || "no operations"));
  if (result.document !== null) part("Answer", plain(result.document));
  by("job-title").focus();
}

by("close").addEventListener("click", () => { by("job").hidden = true; state.open = null; load(); });
by("previous").addEventListener("click", () => { state.from = Math.max(0, state.from - 100); load(); });
by("next").addEventListener("click", () => { state.from += 100; load(); });
by("where").textContent = data.other ? `${data.path}, compared with ${data.other}` : data.path;
makeFilters();
makeHeads();
load();
