/** In the order in which they are run. */

import type { Scenario } from '../harness/run.ts';
import { footprint } from './footprint.ts';
import { handover } from './handover.ts';
import { herd } from './herd.ts';
import { idle } from './idle.ts';
import { isValid } from './is-valid.ts';
import { crash, cut, operatorDelete, pause } from './loss.ts';
import { observers } from './observers.ts';
import { start } from './start.ts';

export const scenarios: readonly Scenario[] = [
  handover,
  start,
  crash,
  herd,
  idle,
  observers,
  isValid,
  footprint,
  cut,
  pause,
  operatorDelete,
];
