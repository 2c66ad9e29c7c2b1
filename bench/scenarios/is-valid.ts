/**
 * The cost of `isValid()`. `pnpm verify is-valid` makes the same measurement and asserts its
 * bounds.
 */

import { isValid as check } from '../../test/integration/checks/is-valid.ts';
import type { Scenario, Section } from '../harness/run.ts';
import { number } from '../harness/spread.ts';

const MOST_OVER_NS = 20;

export const isValid: Scenario = {
  name: 'isValid',
  async run(): Promise<Section> {
    await using opened = await check.open();
    const { figures } = await opened.run(0, { seed: 1, random: () => 0, isTimed: true });
    const { isValidNs = NaN, clocksNs = NaN, overNs = NaN, bytes = NaN, clockBytes = NaN } = figures;
    return {
      title: 'isValid()',
      method: check.method,
      tables: [
        {
          table: {
            head: ['', 'ns', 'bytes allocated'],
            rows: [
              ['`isValid()`', number(isValidNs), number(bytes)],
              ['its two clock reads alone', number(clocksNs), number(clockBytes)],
            ],
          },
        },
      ],
      charts: [],
      targets: [
        {
          what: '`isValid()`',
          wanted: `its two clock reads plus ${MOST_OVER_NS} ns, no allocation of its own`,
          measured: `plus ${number(overNs)} ns, ${number(bytes - clockBytes)} bytes`,
          met: overNs <= MOST_OVER_NS && bytes - clockBytes < 1,
        },
      ],
    };
  },
};
