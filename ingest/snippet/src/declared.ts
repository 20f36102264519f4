/** Checked by the compiler alone: the package has what its declarations say. */

import type * as declared from '../index';
import * as made from './index';

export const checked: typeof declared = made;
