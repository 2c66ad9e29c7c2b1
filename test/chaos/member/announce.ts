/**
 * Reports what the SDK's diagnostics channels publish: leaderships, and the renewals of their
 * leases.
 */

import diagnosticsChannel from 'node:diagnostics_channel';
import { emit } from '@incumbent/test-support/child';

const NS_PER_MS = 1e6;

export function announce(): void {
  const granted = new Map<unknown, unknown>();
  hear('elected', ({ term, lease }) => emit('announced', { what: 'elected', term, lease }));
  hear('ended', ({ term }) => emit('announced', { what: 'ended', term }));
  hear('sessionOpened', ({ lease, ttlMs }) => {
    granted.set(lease, ttlMs);
    emit('renewed', { lease, ttlMs, from: process.hrtime.bigint() });
  });
  hear('sessionRenewed', ({ lease, tookMs }) => {
    const from = process.hrtime.bigint() - BigInt(Math.round(Number(tookMs) * NS_PER_MS));
    emit('renewed', { lease, ttlMs: granted.get(lease), from });
  });
  hear('stuck', () => emit('stuck'));
}

function hear(event: string, tell: (fields: Readonly<Record<string, unknown>>) => void): void {
  diagnosticsChannel.subscribe(`incumbent:${event}`, (message) => {
    tell(typeof message === 'object' && message !== null ? { ...message } : {});
  });
}
