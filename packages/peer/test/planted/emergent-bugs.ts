/** Bugs to plant in the emergent algorithm. */

import { bug as bugOf, type Bug } from './bug.ts';

function bug(name: string, about: string, file: string, from: string, to: string): Bug {
  return bugOf('emergent', name, about, `emergent/${file}`, from, to);
}

export const emergentBugs: readonly Bug[] = [
  bug(
    'noPull',
    'nobody asks for the newest list',
    'follower.ts',
    "if (isNewer(list, message)) step.send(entry, { type: 'update', list });",
    'if (version < 0) step.now satisfies object;',
  ),
  bug(
    'anyList',
    'a list is taken whatever its version',
    'follower.ts',
    'if (list.version <= present.list.version) return false;',
    'if (list.version === present.list.version) return false;',
  ),
  bug(
    'noSearch',
    'a coordinator does not look for the members that it has lost',
    'merge.ts',
    '[...lost, ...state.seeds].filter',
    '[...lost, ...state.seeds].slice(0, 0).filter',
  ),
  bug(
    'bothYield',
    'of two sides of a size each joins the other',
    'list.ts',
    'coordinatorOf(ours).memberId > coordinatorOf(theirs).memberId',
    'true',
  ),
  bug(
    'largerYields',
    'the side that invites is the one that is to join',
    'merge.ts',
    'theirs.memberId === from && yields(present.list, list)) merge',
    'theirs.memberId === from && !yields(present.list, list)) merge',
  ),
  bug(
    'noMerge',
    'the members of a side that merges are not told, and stay by themselves',
    'merge.ts',
    'if (search !== step.state.search) return;',
    'if (search !== step.state.search || present !== undefined) return;',
  ),
  bug(
    'noClaim',
    'nobody follows a coordinator that is gone',
    'claim.ts',
    "present?.role.kind === 'following' && isNext",
    "present?.role.kind === 'following' && present.list.version < 0 && isNext",
  ),
  bug(
    'tooFew',
    'a member leads though they are too few',
    'lead.ts',
    "if (!isEnough(rules, present.list)) return end(step, 'notEnoughMembers');",
    '',
  ),
  bug(
    'sameRound',
    'a second leadership has the number of the first',
    'lead.ts',
    'present.list.round <= state.ledRound',
    'present.list.round < 0',
  ),
  bug(
    'neverMissed',
    'a member that is silent is not missed',
    'watch.ts',
    'if (silentMs < limitMs) return false;',
    'if (silentMs < 1_000 * limitMs) return false;',
  ),
  bug(
    'staysInOffice',
    'a leader that gives up is still valid',
    'end.ts',
    'step.set({ leading: undefined, standing: false,',
    'step.set({ standing: false,',
  ),
  bug(
    'anyLeads',
    'who coordinates leads, whether it stands or not',
    'lead.ts',
    '|| !state.standing || !coordinatorOf(present.list).standing ||',
    '||',
  ),
  bug(
    'heardIsIn',
    'a former member that is probed or referred in its last attempt to join gives up, though nobody lets it in',
    'joiner.ts',
    'if (mustFound(step, phase)) return found(step, phase);',
    'if (mustFound(step, phase) && !phase.isHeard) return found(step, phase);',
  ),
];
