// JSON lines in, JSON lines out: templates and variables → what @huggingface/jinja makes of them.
//
// A request is {source, variables?, now?, spelled?}: without variables the template is only compiled; `now` is what
// the clock shows, in milliseconds of a day without time zones; `spelled` says that numbers which JSON has not are
// written as {"\0number": NAME}. An answer is {text} or {failure: [kind, message]}.
//
// Arguments: the library's module, the milliseconds that a request may take, the length of the longest text.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";

const [module, milliseconds, longest] = process.argv.slice(2);
const { Environment, Template } = await import(pathToFileURL(module).href);
const patience = Number(milliseconds);
const attempts = 3;

// ------------------------------------------------------------------------------ what the library is shown

let now = 0;
const SystemDate = Date;
globalThis.Date = class Date extends SystemDate {
  constructor(...parts) {
    if (parts.length === 0) super(now);
    else super(...parts);
  }

  static now() {
    return now;
  }
};

// The library throws a plain Error where a template refuses: one with a name can be told from its own.
class Refusal extends Error {}
const refuse = (message) => {
  throw new Refusal(message);
};
const declare = Environment.prototype.set;
Environment.prototype.set = function set(name, value) {
  const refuses = name === "raise_exception" && typeof value === "function";
  return declare.call(this, name, refuses ? refuse : value);
};

// ------------------------------------------------------------------------------------------- one request

let held = { source: null, template: null }; // requests come in runs of one template
let request = null;
let compiling = false;

globalThis.answerRequest = () => {
  if (held.source !== request.source) {
    compiling = true;
    held = { source: request.source, template: new Template(request.source) };
    compiling = false;
  }
  if (request.variables === undefined) return {};
  now = request.now;
  const text = held.template.render(request.variables);
  if (text.length > Number(longest)) return { failure: ["too-large", ""] };
  return { text };
};
const answerRequest = new Script("answerRequest()");

function answer() {
  for (let attempt = 1; ; attempt++) {
    const before = process.cpuUsage();
    compiling = false;
    try {
      return answerRequest.runInThisContext({ timeout: patience });
    } catch (error) {
      const { user, system } = process.cpuUsage(before); // microseconds
      const starved = (user + system) / 1000 < patience / 2; // other processes had the processor
      const late = error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      if (!late || !starved || attempt === attempts) return { failure: failure(error, late) };
    }
  }
}

const grown = new Map([
  ["Maximum call stack size exceeded", "recursion too deep"],
  ["Invalid string length", "a text beyond what JavaScript holds"],
  ["Invalid array length", "a list beyond what JavaScript holds"],
]);

function failure(error, late) {
  if (late) return ["timeout", `more than ${patience / 1000} s`];
  if (error instanceof RangeError && grown.has(error.message)) return ["too-large", grown.get(error.message)];
  if (error instanceof Refusal) return ["refused", error.message.slice(0, Number(longest))];
  const kind = compiling ? "syntax" : "raised";
  if (/^(Break|Continue)Control$/.test(error.constructor.name)) return [kind, "break or continue outside a loop"];
  const plain = error.name === "Error" || error.name === "SyntaxError"; // the library's own words
  return [kind, plain ? error.message : `${error.name}: ${error.message}`];
}

const spelt = (_, value) =>
  value !== null && typeof value === "object" && Object.hasOwn(value, "\0number") ? Number(value["\0number"]) : value;

const say = (content) => process.stdout.write(JSON.stringify(content) + "\n");

say({ ready: true });
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  request = JSON.parse(line);
  if (request.spelled) request = JSON.parse(line, spelt);
  say(answer());
}
