// Python in the browser: compile, verify, simulate and draw a schedule; weaken a wait and see the witness.
// Everything is served with the page; nothing is fetched from elsewhere.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const $ = (id) => document.getElementById(id);
const say = (text) => { $("state").textContent = text; };

const pyodide = await loadPyodide({ indexURL: "./pyodide/" });
say("loading warploom ...");
pyodide.unpackArchive(await (await fetch("warploom.zip")).arrayBuffer(), "zip");
await pyodide.runPythonAsync(await (await fetch("playground.py")).text());
const call = (name, ...args) => JSON.parse(pyodide.globals.get(name)(...args));

for (const [name, source] of Object.entries(call("examples"))) {
  const option = document.createElement("option");
  option.textContent = name;
  option.value = source;
  $("examples").append(option);
}

function show(found) {
  $("verdict").textContent = found.error ? found.error.what : `${found.verdict}: ${found.summary}`;
  $("verdict").className = found.error ? "error" : found.verdict;
  const lines = found.error ? ["where", "why", "fix"].map((n) => found.error[n] && `${n}  ${found.error[n]}`).filter(Boolean)
    : [found.findings, found.witness].filter(Boolean);
  $("text").hidden = !lines.length;
  $("text").textContent = lines.join("\n\n");
  if (found.page) { $("timeline").srcdoc = found.page; $("timeline").hidden = false; }
  if (found.waits) {
    const table = document.createElement("table");
    for (const wait of found.waits) {
      const row = table.insertRow();
      const weaken = document.createElement("button");
      weaken.textContent = wait.weaker ? "undo" : "weaken";
      weaken.setAttribute("aria-label", `${weaken.textContent} ${wait.label} at kernel ${wait.index}`);
      weaken.addEventListener("click", () => work(() => show(call("weakened", wait.index))));
      row.insertCell().append(weaken);
      row.insertCell().textContent = `${wait.index} ${wait.label}`;
      row.insertCell().textContent = wait.reason;
    }
    $("waits").replaceChildren(table);
  }
}

function work(action) {
  say("working ...");
  $("run").disabled = true;
  setTimeout(() => {
    const start = performance.now();
    try { action(); } finally {
      $("run").disabled = false;
      say(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
  }, 20);
}

$("examples").addEventListener("change", () => { $("source").value = $("examples").value; });
$("run").addEventListener("click", () => work(() => show(call("compiled", $("source").value))));
$("source").value = $("examples").value;
document.documentElement.dataset.ready = "yes";
$("run").disabled = false;
$("run").click();
