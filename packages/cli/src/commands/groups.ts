/** `incumbent groups`: the members that have joined the groups of a namespace. */

import { Member, type GroupMember, type Store } from '@incumbent/core';

import { groupSizes } from '../common/groups.ts';
import { showNamespace } from '../common/elections.ts';
import { showValue } from '../common/json.ts';
import { addStoreOptions, examples, exitCodes, type CommandParent } from '../common/options.ts';
import { printJson } from '../common/output.ts';
import { withStore, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { Exit } from '../exit.ts';
import { RunLog } from '../run/log.ts';

interface GroupsOptions extends StoreOptions {
  readonly json?: boolean;
}

/** How many groups are read at a time. */
const BATCH = 16;
const CALL = { timeoutMs: 5_000 } as const;

interface Joined extends GroupMember {
  readonly group: string;
}

export function addGroups({ root, context, end }: CommandParent): void {
  const command = root
    .command('groups')
    .summary('list the members of groups')
    .description('List the members of groups with their values, in the order in which they joined.')
    .argument('[groups...]', 'names of groups (default: all of the namespace)')
    .option('--json', 'print one line of JSON per member')
    .addHelpText('after', exitCodes('the groups were read, also if they have no members'))
    .addHelpText('after', examples('incumbent groups', 'incumbent groups brokers'))
    .action((names: readonly string[], options: GroupsOptions) => end(groups(names, options, context)));
  addStoreOptions(command);
}

/** Leaves out a record that cannot be read, and reports it on standard error. */
async function groups(names: readonly string[], options: GroupsOptions, context: CliContext): Promise<number> {
  const { out, err } = context;
  return withStore(options, context, async (store) => {
    // A member that has not joined has no lease.
    await using reader = new Member(store, { logger: new RunLog(err, 'normal').logger });
    const members = await membersOf(reader, names.length === 0 ? await groupNames(store) : names);
    if (members.length === 0) err.line(nobody(store, names));
    else if (options.json === true) for (const member of members) printJson(out, { type: 'groupMember', ...member });
    else {
      const rows = members.map(({ group, memberId, incarnation, value }) => [group, memberId, incarnation, showValue(value)]);
      out.table([['GROUP', 'MEMBER', 'INCARNATION', 'VALUE'], ...rows]);
    }
    return Exit.OK;
  });
}

async function groupNames(store: Store): Promise<readonly string[]> {
  return [...(await groupSizes(store, CALL)).keys()];
}

async function membersOf(reader: Member, names: readonly string[]): Promise<readonly Joined[]> {
  // Checks every name before the first request.
  const all = names.map((name) => reader.group(name));
  const members: Joined[] = [];
  for (let from = 0; from < all.length; from += BATCH) {
    const read = all
      .slice(from, from + BATCH)
      .map(async (group) => (await group.members()).map((member) => ({ group: group.name, ...member })));
    members.push(...(await Promise.all(read)).flat());
  }
  return members;
}

function nobody(store: Store, names: readonly string[]): string {
  const place = showNamespace(store);
  if (names.length === 0) return `no group of ${place} has members`;
  return `nobody has joined ${names.map((name) => `"${name}"`).join(', ')} in ${place}`;
}
