/** What the snippet takes of the main thread: by a clock around its calls, and by the profiler's own samples. */

import { log, now } from './page';
import type { ProfilerTrace } from './profiler';

declare const BARE: boolean;

/** Main-thread ms: by the clock, and by the profiler. */
export interface Cost {
  readonly ms: number;
  readonly sampled: number;
}

let spent = 0;

/**
 * Returns `run`, with its time on the main thread counted. An error of ours never reaches the page. All that a browser
 * calls goes through here: timers, events, promises.
 */
export const counted = <T extends unknown[]>(run: (...values: T) => void): (...values: T) => void => Object.values({
  // The quoted name survives all minifiers: by it a server knows the snippet in a site's own bundle. (Read directly, the
  // function would lose it.)
  'fieldflame:run'(...values: T): void {
    const enteredAt = BARE ? 0 : now();
    try {
      run(...values);
    } catch (error) {
      log(error);
    }
    spent += BARE ? 0 : now() - enteredAt;
  },
})[0]!;

/**
 * Returns the cost since the last call. `sampled`: of the trace's samples in what a browser calls of ours, and in all that
 * this calls. Of samples at one time one counts, and the first is the constructor's own.
 */
export const takeCost = (trace: ProfilerTrace, interval: number): Cost => {
  const isOwn: boolean[] = []; // by stack; parents come before children
  for (const { frameId, parentId } of trace.stacks) {
    isOwn.push(isOwn[parentId!] || trace.frames[frameId]!.name === 'fieldflame:run');
  }
  const ms = spent;
  spent = 0;
  return {
    ms,
    sampled: interval * trace.samples.filter(({ stackId, timestamp }, index, all) =>
      all[index - 1]?.timestamp! < timestamp && isOwn[stackId!]).length,
  };
};
