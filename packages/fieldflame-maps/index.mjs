/**
 * Gives the scripts of a build debug ids, and uploads them with their source maps to Fieldflame. Then traces name the
 * map of each script themselves, wherever it is served. By a plugin of Vite, Rollup or esbuild, or for a folder:
 * `node index.mjs FOLDER` with FIELDFLAME_URL, FIELDFLAME_TOKEN, FIELDFLAME_PROJECT and FIELDFLAME_RELEASE.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const SCRIPT = /\.[cm]?js$/;
const STRICT = /^(?:"use strict"|'use strict');?/; // of a whole script only if it comes first
const MAX_TAR_BYTES = 2 ** 30;

/** Returns the id that a script always gets for its content: a build that is made again changes nothing. */
const idOf = (code) => createHash('sha256').update(code).digest('hex')
  .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-5$3-8$4-$5');

/** Writes an id into a script, on a first line of its own and at its end, and into its map. Ids that are there stay. */
export function inject(script) {
  const code = readFileSync(script, 'utf8');
  if (/\/\/# debugId=/.test(code) || code.startsWith('#!')) {
    return;
  }
  const id = idOf(code);
  const note = `try{(self._debugIds=self._debugIds||{})[Error().stack]="${id}"}catch(e){}`;
  const map = JSON.parse(readFileSync(`${script}.map`, 'utf8'));
  if (map.sections) {
    map.sections.forEach((section) => section.offset.line++);
  } else {
    map.mappings = `;${map.mappings}`;
  }
  writeFileSync(`${script}.map`, JSON.stringify({ ...map, debugId: id }));
  writeFileSync(script, `${STRICT.exec(code)?.[0] ?? ''}${note}\n${code.trimEnd()}\n//# debugId=${id}\n`);
}

/** Injects debug ids into the scripts below a folder that have maps next to them, and uploads both. */
export async function upload(folder, { url, token, project, release }) {
  const files = readdirSync(folder, { recursive: true }).map(String)
    .filter((file) => SCRIPT.test(file) && existsSync(join(folder, `${file}.map`)));
  if (!files.length) {
    throw new Error(`fieldflame: no script below ${folder} has a source map next to it; is it switched on?`);
  }
  files.forEach((file) => inject(join(folder, file)));
  const names = files.flatMap((file) => [file, `${file}.map`]).map((file) => `./${file.split(sep).join('/')}`);
  const body = execFileSync('tar', ['-czf', '-', '-C', folder, ...names], { maxBuffer: MAX_TAR_BYTES });
  const query = new URLSearchParams({ release, url_prefix: '~/' });
  const address = `${url.replace(/\/$/, '')}/api/v1/projects/${encodeURIComponent(project)}/sourcemaps?${query}`;
  const response = await fetch(address, { method: 'POST', body, headers: { Authorization: `Bearer ${token}` } });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    const left = (answer.rejected ?? []).map(({ file, path, detail }) => `${file} (${path}): ${detail}`);
    const detail = [answer.detail ?? 'Some files were left out.', ...left].join(' ');
    throw new Error(`fieldflame: ${response.status} ${detail}`);
  }
  console.log(`fieldflame: ${answer.scripts.length} scripts with debug ids uploaded for release ${release}.`);
}

/** The plugin of Vite and of Rollup. With several outputs, each is uploaded. */
export const fieldflame = (options) => ({
  name: 'fieldflame', apply: 'build', writeBundle: ({ dir, file }) => upload(dir ?? join(file, '..'), options),
});

/** The plugin of esbuild. */
export const fieldflameEsbuild = (options) => ({
  name: 'fieldflame', setup: (build) => build.onEnd(({ errors }) => errors.length ? undefined
    : upload(build.initialOptions.outdir ?? join(build.initialOptions.outfile, '..'), options)),
});

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [url, token, project, release] = ['URL', 'TOKEN', 'PROJECT', 'RELEASE']
    .map((name) => process.env[`FIELDFLAME_${name}`]);
  upload(process.argv[2], { url, token, project, release }).catch(({ message }) => {
    console.error(message);
    process.exitCode = 1;
  });
}
