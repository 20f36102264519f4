/** The package for a site's own bundle. Importing it does nothing; `start` records the page. */

import type { Command } from './profiler';
import type { Options } from './page';
import { start as startWith } from './start';

export type { Command, Options };

/** Records this page. A second call does nothing. `endpoint` and `key` are required. */
export function start(options: Options): void {
  try {
    startWith(options, document.baseURI, undefined);
  } catch {
    // Nothing of ours may show up in the page's own error reports.
  }
}

/** Names the page's route, gives its tags or consent, or stops and starts the recording. Before `start`, nothing. */
export function fieldflame(command: Command, value?: unknown): void {
  if (window.fieldflame) {
    window.fieldflame(command, value);
  }
}
