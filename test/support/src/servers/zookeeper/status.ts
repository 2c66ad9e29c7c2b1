import type { Leadership } from '../kind.ts';
import type { OwnService } from '../types.ts';
import { fourLetterWord } from './four-letter-word.ts';
import { grantsSession } from './session.ts';

type Address = Pick<OwnService, 'url' | 'tls'>;

/** Whether a server serves clients: alone, or as a follower or leader. */
export async function isServing(server: Address): Promise<boolean> {
  const mode = fieldOf(await fourLetterWord(server, 'srvr'), 'Mode');
  return (mode === 'standalone' || mode === 'follower' || mode === 'leader') && grantsSession(server);
}

/** The version that the server at this address reports. */
export async function versionOf(server: Address): Promise<string> {
  const version = fieldOf(await fourLetterWord(server, 'srvr'), 'Zookeeper version') ?? '';
  const [number] = /^\d+\.\d+\.\d+/.exec(version) ?? [];
  if (number === undefined) throw new Error(`what answers at ${server.url} is no ZooKeeper`);
  return number;
}

/**
 * Whether a server reports that it leads its cluster, and in which epoch. Throws if it does not
 * answer within a second.
 */
export async function leadershipOf(server: Address): Promise<Leadership> {
  const status = await fourLetterWord(server, 'srvr');
  return { leads: fieldOf(status, 'Mode') === 'leader', term: BigInt(fieldOf(status, 'Zxid') ?? 0) >> 32n };
}

function fieldOf(status: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(status)?.[1];
}
