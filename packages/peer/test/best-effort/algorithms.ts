/** The best-effort algorithms by name, all with the same timeouts. */

import {
  bully,
  candidateOrdinary,
  invitation,
  nextInLine,
  ring,
  type BestEffortAlgorithm,
  type BestEffortOptions,
  type BullyOptions,
  type CandidateOrdinaryOptions,
  type InvitationOptions,
  type NextInLineOptions,
  type RingOptions,
} from '../../src/index.ts';

export const names = ['bully', 'nextInLine', 'candidateOrdinary', 'invitation', 'ring'] as const;

export type Name = (typeof names)[number];

/** Options that only some algorithms have. An algorithm's unknown options are left out. */
export interface Options extends BestEffortOptions {
  readonly forgiveMs?: BullyOptions['forgiveMs'];
  readonly successors?: NextInLineOptions['successors'];
  readonly candidates?: CandidateOrdinaryOptions['candidates'];
  readonly delayStepMs?: CandidateOrdinaryOptions['delayStepMs'];
  readonly inviteEveryMs?: InvitationOptions['inviteEveryMs'];
  readonly variant?: RingOptions['variant'];
}

export function algorithmOf(name: Name, all: Options): BestEffortAlgorithm {
  const { forgiveMs, successors, candidates, delayStepMs, inviteEveryMs, variant, ...options } = all;
  switch (name) {
    case 'bully':
      return bully({ ...options, ...given({ forgiveMs }) });
    case 'nextInLine':
      return nextInLine({ ...options, ...given({ forgiveMs, successors }) });
    case 'candidateOrdinary':
      return candidateOrdinary({ ...options, candidates: candidates ?? options.members, ...given({ delayStepMs }) });
    case 'invitation':
      return invitation({ ...options, ...given({ inviteEveryMs }) });
    case 'ring':
      return ring({ ...options, ...given({ variant }) });
    default:
      return name satisfies never;
  }
}

/** Drops undefined options. */
function given<T extends object>(options: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
