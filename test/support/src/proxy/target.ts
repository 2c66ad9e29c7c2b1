import type { Target } from './link.ts';
import { LOOPBACK } from '../ports.ts';

/**
 * The target of a proxy: a URL, whose scheme the proxy's own URL takes, a port of this machine, or
 * a host and a port.
 */
export type ProxyTarget = string | number | Target;

export interface ParsedTarget extends Target {
  readonly scheme: string;
}

export function parseTarget(target: ProxyTarget): ParsedTarget {
  if (typeof target === 'number') return { scheme: 'tcp', host: LOOPBACK, port: target };
  if (typeof target !== 'string') return { scheme: 'tcp', ...target };
  const { protocol, hostname, port } = new URL(target);
  if (port === '') throw new TypeError(`the proxy's target has no port: ${target}`);
  return { scheme: protocol.replace(/:$/, ''), host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
}
