// What Chrome DevTools' own code makes of a file: `node devtools.mjs cpuprofile|trace FILE` prints JSON.
//
// `threads` has, for every thread by name, a row for each func: [name, url, line, column, self µs, total µs], positions
// 0-based as DevTools has them. A func that recurs counts once. The engine is npm's @paulirish/trace_engine, which is
// built from the DevTools frontend.
import fs from 'node:fs';
import {CPUProfileDataModel} from '@paulirish/trace_engine/models/cpu_profile/CPUProfileDataModel.js';
import {polyfillDOMRect} from '@paulirish/trace_engine/analyze-trace.mjs';

const [kind, path] = process.argv.slice(2);
const file = JSON.parse(fs.readFileSync(path, 'utf8'));
const failures = [];
console.error = (...words) => failures.push(words.join(' '));

class Sums {
  rows = new Map();
  open = new Map();

  key(frame) {
    return JSON.stringify([frame.functionName, frame.url, frame.lineNumber, frame.columnNumber]);
  }

  enter(key) {
    this.open.set(key, (this.open.get(key) ?? 0) + 1);
  }

  leave(key, selfUs, totalUs) {
    const row = this.rows.get(key) ?? [0, 0];
    this.rows.set(key, row);
    const left = this.open.get(key) - 1;
    this.open.set(key, left);
    row[0] += selfUs;
    row[1] += left ? 0 : totalUs;
  }

  list() {
    return [...this.rows].map(([key, [selfUs, totalUs]]) => [...JSON.parse(key), Math.round(selfUs), Math.round(totalUs)]);
  }
}

function readProfile() {
  const model = new CPUProfileDataModel(file);
  const sums = new Sums();
  model.forEachFrame(
      (depth, node) => sums.enter(sums.key(node.callFrame)),
      (depth, node, index, start, durationMs, selfMs) => sums.leave(sums.key(node.callFrame), selfMs * 1000, durationMs * 1000));
  return {'': sums.list()};
}

function sumThread(thread) {
  const sums = new Sums();
  const frameOf = entry => entry.callFrame ?? {functionName: entry.name, url: null, lineNumber: null, columnNumber: null};
  const pending = [...thread.tree.roots].map(node => [node, true]);
  while (pending.length) {
    const [node, isEntry] = pending.pop();
    const key = sums.key(frameOf(node.entry));
    if (isEntry) {
      sums.enter(key);
      pending.push([node, false], ...[...node.children].map(child => [child, true]));
    } else {
      sums.leave(key, node.selfTime ?? 0, node.entry.dur ?? 0);
    }
  }
  return sums.list();
}

async function readTrace() {
  polyfillDOMRect();
  const Trace = await import('@paulirish/trace_engine/models/trace/trace.js');
  const model = Trace.TraceModel.Model.createWithAllHandlers();
  await model.parse(file.traceEvents, {metadata: file.metadata});
  const {Meta, Renderer} = model.parsedTrace().data;
  const threads = {};
  for (const process of Renderer.processes.values()) {
    for (const thread of process.threads.values()) {
      threads[thread.name] = sumThread(thread);
    }
  }
  return {isGeneric: Meta.traceIsGeneric, rangeUs: Meta.traceBounds.range, threads};
}

const answer = kind === 'cpuprofile' ? {threads: readProfile()} : await readTrace();
process.stdout.write(JSON.stringify({...answer, failures}));
