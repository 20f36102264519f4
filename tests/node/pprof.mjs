// What a published reader of pprof's format makes of a file: `node pprof.mjs FILE` prints JSON, a row for each func:
// [name, file, line, column, self, total], in µs. The reader is npm's pprof-format.
import fs from 'node:fs';
import zlib from 'node:zlib';
import {Profile} from 'pprof-format';

const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = index => profile.stringTable.strings[Number(index)];
const at = profile.sampleType.findIndex(type => text(type.unit) === 'microseconds');
const functions = new Map(profile.function.map(func => [func.id, func]));
const keys = new Map(profile.location.map(location => {
  const [line] = location.line;
  const func = functions.get(line.functionId);
  return [location.id, JSON.stringify([text(func.name), text(func.filename), Number(line.line), Number(line.column)])];
}));
const rows = new Map();
for (const sample of profile.sample) {
  const us = Number(sample.value[at]);
  const path = sample.locationId.map(id => keys.get(id));
  for (const key of new Set(path)) {
    const row = rows.get(key) ?? [0, 0];
    rows.set(key, [row[0] + (key === path[0] ? us : 0), row[1] + us]);
  }
}
process.stdout.write(JSON.stringify([...rows].map(([key, sums]) => [...JSON.parse(key), ...sums])));
