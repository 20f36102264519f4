/** What the snippet takes of the main thread: by a clock around its calls, and by the profiler's own samples. */

import { log, script } from './page';
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
    const enteredAt = BARE ? 0 : performance.now();
    try {
      run(...values);
    } catch (error) {
      log(`${error}`);
    }
    spent += BARE ? 0 : performance.now() - enteredAt;
  },
})[0]!;

/**
 * Returns the cost since the last call. `sampled`: of the trace's samples in our functions, and in what these called of
 * the browser's. Of samples at one time one counts, and the first is the constructor's own.
 */
export const takeCost = ({ frames, resources, samples, stacks }: ProfilerTrace, interval: number): Cost => {
  const isOwn = (id?: number): boolean => {
    const stack = stacks[id!];
    const frame = frames[stack?.frameId!];
    return !!frame && (frame.resourceId === undefined
      ? isOwn(stack!.parentId)
      : frame.name === 'fieldflame:run' || resources[frame.resourceId] === script);
  };
  const ms = spent;
  spent = 0;
  return {
    ms,
    sampled: interval * samples.filter(({ stackId, timestamp }, index) =>
      samples[index - 1]?.timestamp! < timestamp && isOwn(stackId)).length,
  };
};
