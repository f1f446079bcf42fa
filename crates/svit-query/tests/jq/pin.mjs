// Asks real jq for the results that `ordinary.json` and `exceptions.json` pin, and writes them into the
// files. Only `filter`, `input` and, of an exception, `ours` and `reason` are written by hand.
//
//     npm install jq-wasm@3.0.0-jq-1.8.2 && node pin.mjs
//
// in a folder that holds a copy of this file and of the two others.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const jq = createRequire(import.meta.url)("jq-wasm");

async function ask(filter, input) {
  const { stdout, exitCode } = await jq.raw(JSON.stringify(input), filter, ["-c"]);
  // Each result as the text that jq prints: reading it into a number here could lose digits.
  return exitCode === 0 ? { results: stdout === "" ? [] : stdout.split("\n") } : { fails: true };
}

for (const name of ["ordinary.json", "exceptions.json"]) {
  const { jq: _, cases } = JSON.parse(readFileSync(name, "utf8"));
  const lines = [];
  for (const { filter, input, ours, reason } of cases) {
    const asked = await ask(filter, input ?? null);
    const whole = { filter, input: input ?? null, ...asked };
    if (reason !== undefined) Object.assign(whole, { ours, reason });
    lines.push("  " + JSON.stringify(whole));
  }
  const version = JSON.stringify(await jq.version());
  writeFileSync(name, `{"jq": ${version}, "cases": [\n${lines.join(",\n")}\n]}\n`);
  console.log(name, lines.length);
}
