/** Certificates that are renewed while the members run. */

import { writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { Server } from 'node:tls';
import { ManualClock } from '@incumbent/memory';
import { makeScratch, type Scratch } from '@incumbent/test-support';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { PeerTls } from '../../src/index.ts';
import { DialCertificates, TlsListener } from '../../src/tcp/tls.ts';
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

it('certificate files are read again at most once per second, however many connections are dialled', async () => {
  await renew('dialled');
  const clock = new ManualClock();
  const certificates = new DialCertificates(filesOf('a').tls, clock);
  const first = certificates.current();
  await clock.advance(999);
  expect(certificates.current()).toBe(first);
  await clock.advance(1);
  const second = certificates.current();
  expect(second).not.toBe(first);
  expect(certificates.current()).toBe(second);
});

it('certificate files are read again at most once per second, however many connections are accepted', async () => {
  await renew('accepted');
  const clock = new ManualClock();
  const listener = new TlsListener(filesOf('a').tls, clock);
  const reads = vi.spyOn(Server.prototype, 'setSecureContext');
  const accept = async (): Promise<void> => {
    const raw = new Socket();
    const secured = listener.secure(raw);
    raw.destroy();
    await expect(secured).rejects.toThrow('the other side ended the connection');
  };
  try {
    for (const passes of [999, 1, 0, 500]) {
      await clock.advance(passes);
      for (let i = 0; i < 10; i += 1) await accept();
    }
    expect(reads).toHaveBeenCalledTimes(1);
    await clock.advance(500);
    await accept();
    expect(reads).toHaveBeenCalledTimes(2);
  } finally {
    reads.mockRestore();
  }
});
