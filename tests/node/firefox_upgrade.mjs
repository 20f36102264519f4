// Mozilla's own upgraders: `node firefox_upgrade.mjs READER FILE` prints a list with the profile of FILE in every newer
// version of the processed format, and without a file only the newest version that the reader knows.
//
// The package is one bundled command. Its function that upgrades a profile is found by the error that it throws, and is
// asked to stop early by being told of a newest version.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [reader, file] = process.argv.slice(2);
const bundle = fs.readFileSync(reader, 'utf8').replace(/^#!.*/, '');
// `if (version > 75) throw new Error("processed", version, 75)`
const refusal = /throw new \w+\("processed",\w+,(\d+)\)/.exec(bundle);
if (!refusal) throw new Error('The reader has changed: nothing refuses a newer processed version.');
const newest = refusal[1];
const start = bundle.lastIndexOf('function ', refusal.index);
const name = /^function (\w+)\(/.exec(bundle.slice(start))[1];
const end = bundle.indexOf('}function ', refusal.index);
const upgrade = bundle.slice(start, end).replaceAll(new RegExp(`\\b${newest}\\b`, 'g'), 'globalThis.asked');
const code = `${bundle.slice(0, start)}globalThis.upgrade=(profile)=>${name}(profile,{});${upgrade}${bundle.slice(end)}`;

// The command itself, which runs at the end of its file, may only say its version.
const STOP = new Error('stop');
const print = process.stdout.write.bind(process.stdout);
const exit = process.exit;
process.argv = [process.argv[0], reader, '--version'];
process.stdout.write = process.stderr.write = () => true;
process.exit = () => { throw STOP; };
process.on('unhandledRejection', (error) => { if (error !== STOP) throw error; });
try {
  new Function('require', 'module', '__dirname', '__filename', code)(
    createRequire(reader), {exports: {}}, path.dirname(reader), reader);
} catch (error) {
  if (error !== STOP) throw error;
}
print(JSON.stringify(file ? everyNewer(fs.readFileSync(file, 'utf8')) : Number(newest)), () => exit(0));

function everyNewer(text) {
  const profiles = [];
  for (let version = JSON.parse(text).meta.preprocessedProfileVersion + 1; version <= newest; version += 1) {
    globalThis.asked = version;
    profiles.push(globalThis.upgrade(JSON.parse(text)));
  }
  return profiles;
}
