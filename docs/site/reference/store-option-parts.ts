/** Options that several stores share, as in option-help.ts. */

import type { OptionHelp } from './option-help.ts';

const NAMESPACE = 'names of `A-Z a-z 0-9 . _ ~ -`, separated by `/`';

export const clock: OptionHelp = {
  type: 'Clock',
  fallback: '`systemClock`',
  meaning: 'For tests.',
};

export const tls: OptionHelp = {
  type: 'TlsOptions',
  fallback: 'no TLS',
  meaning: 'Connects with TLS, by the options [below](#tls). In a URL, the scheme says so.',
};

export const namespace: OptionHelp = {
  type: 'string',
  fallback: '`incumbent`',
  range: NAMESPACE,
  meaning: 'The prefix of all keys of this store: the path of the URL.',
};

export const connectTimeoutMs: OptionHelp = {
  type: 'number',
  fallback: 5_000,
  range: [100, 600_000],
  meaning: 'How long opening may take, in ms.',
  parameter: 'connectTimeoutMs',
};

export const connect: OptionHelp = {
  type: '(endpoint, signal) => Duplex',
  fallback: 'TCP or TLS',
  meaning: 'Opens the byte stream to a server, for a tunnel. Not beside `tls`.',
};

export function endpoints(port: number): OptionHelp {
  return {
    type: 'string[]',
    meaning: `All servers, each as \`host\` or \`host:port\`. The default port is ${port}.`,
  };
}

export const credentials: OptionHelp = {
  type: '{ username, password }',
  fallback: 'none',
  meaning: 'The user: `user:password@` in the URL, percent-encoded.',
};
