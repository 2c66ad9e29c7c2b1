import { javaFlags } from './flags.ts';
import type { Keystores } from './keystores.ts';

const MAIN = 'org.apache.zookeeper.ZooKeeperMain';
const CONNECT_MS = 5_000;

export interface CtlOptions {
  /** The folder to which `writeLogging` has written. */
  readonly folder?: string;
  readonly keystores?: Keystores | undefined;
}

/** The arguments with which Java runs one command of zkCli. */
export function ctlArgs(endpoints: readonly string[], args: readonly string[], { folder, keystores }: CtlOptions = {}): readonly string[] {
  const servers = endpoints.map((url) => new URL(url).host).join(',');
  const options = ['-timeout', String(CONNECT_MS), '-waitforconnection', '-server', servers];
  return [...javaFlags(folder, 'off'), ...tlsFlags(keystores), MAIN, ...options, ...args];
}

function tlsFlags(keystores: Keystores | undefined): readonly string[] {
  if (keystores === undefined) return [];
  return [
    '-Dzookeeper.client.secure=true',
    '-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty',
    `-Dzookeeper.ssl.keyStore.location=${keystores.client}`,
    `-Dzookeeper.ssl.trustStore.location=${keystores.authority}`,
  ];
}

/** The output of a command of zkCli, without the messages about its connection that precede it. */
export function withoutGreeting(output: string): string {
  const [greeting = ''] = /^[^]*?^WatchedEvent state:SyncConnected.*\n/m.exec(output) ?? [];
  return output.slice(greeting.length);
}
