/** Certificates that are renewed while the members run. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratch, type Scratch } from '@incumbent/test-support';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PeerTls } from '../../src/index.ts';
import { Authority } from './authority.ts';
import { TcpGroup } from './group.ts';

const PARTS = ['ca', 'cert', 'key'] as const;

let scratch: Scratch;
beforeAll(async () => {
  scratch = await makeScratch('peer-renewal');
});
afterAll(() => scratch.remove());

function textOf(pem: unknown): string {
  if (typeof pem !== 'string') throw new TypeError('the authority gives text');
  return pem;
}

function fileOf(id: string, part: string): string {
  return join(scratch.path, `${id}.${part}.renewed`);
}

function filesOf(id: string): { readonly tls: PeerTls } {
  const [ca, cert, key] = PARTS.map((part) => ({ file: fileOf(id, part) }));
  return { tls: { ca: ca!, cert: cert!, key: key! } };
}

async function renew(name: string): Promise<void> {
  const authority = await new Authority(scratch.path, name).make();
  for (const id of ['a', 'b']) {
    const tls = await authority.certify(id);
    for (const part of PARTS) await writeFile(fileOf(id, part), textOf(tls[part]));
  }
}

async function restart(group: TcpGroup, id: string): Promise<void> {
  const { member, transport } = group.of(id);
  await member.close();
  await transport.close();
  group.start(id);
  await group.leader();
}

it('both dialling and listening members load renewed certificates', async () => {
  await renew('first');
  await using group = await TcpGroup.elected(['a', 'b'], { security: filesOf });
  // Of the two members, a dials.
  await renew('second');
  await restart(group, 'b');
  await renew('third');
  await restart(group, 'a');
  expect((await group.leader()).isValid()).toBe(true);
}, 60_000);

it.each(['a', 'b'])(
  '%s keeps its last certificates while the renewed files are not usable',
  async (id) => {
    await renew(`before-${id}`);
    await using group = await TcpGroup.elected(['a', 'b'], { security: filesOf });
    await writeFile(fileOf(id, 'cert'), '-----BEGIN CERTIFICATE-----');
    await restart(group, id === 'a' ? 'b' : 'a');
    expect((await group.leader()).isValid()).toBe(true);
  },
  60_000,
);
