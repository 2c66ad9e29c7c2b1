import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Certificates } from '../certificates.ts';

/** The files that say who may use an API server, in one folder. */
export interface AccessFiles {
  readonly tokens: { readonly admin: string; readonly member: string };
  readonly tokenFile: string;
  readonly ruleFile: string;
}

const MEMBER = 'member';

export async function writeAccess(folder: string): Promise<AccessFiles> {
  const tokens = { admin: randomUUID(), member: randomUUID() };
  const [tokenFile, ruleFile] = [join(folder, 'tokens.csv'), join(folder, 'rules')];
  await writeFile(tokenFile, `${tokens.admin},admin,1,"system:masters"\n${tokens.member},${MEMBER},2\n`);
  await writeFile(ruleFile, '');
  return { tokens, tokenFile, ruleFile };
}

/**
 * The member's rights, each as `verb group resource namespace`. The server reads them at each
 * request.
 */
export function writeRights({ ruleFile }: AccessFiles, rights: readonly string[]): Promise<void> {
  return writeFile(ruleFile, rights.map((right) => `${MEMBER} ${right}\n`).join(''));
}

/** Flags of an API server at this address, with this etcd behind it. */
export function apiServerFlags(url: string, etcd: string, { tokenFile, ruleFile }: AccessFiles, tls: Certificates): readonly string[] {
  const { hostname, port } = new URL(url);
  return [
    `--etcd-servers=${etcd}`,
    `--bind-address=${hostname}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${tls.server.cert}`,
    `--tls-private-key-file=${tls.server.key}`,
    `--client-ca=${tls.ca}`,
    `--tokens=${tokenFile}`,
    `--rules=${ruleFile}`,
  ];
}

/** Writes a kubeconfig with two users on one server, and returns its path. */
export async function writeKubeconfig(folder: string, url: string, { tokens }: AccessFiles, tls: Certificates): Promise<string> {
  const file = join(folder, 'kubeconfig');
  const cluster = { name: 'test', cluster: { server: url, 'certificate-authority': tls.ca } };
  const users = [
    { name: 'admin', user: { token: tokens.admin } },
    { name: 'certified', user: { 'client-certificate': tls.client.cert, 'client-key': tls.client.key } },
  ];
  const contexts = users.map(({ name }) => ({ name, context: { cluster: 'test', user: name, namespace: 'default' } }));
  // JSON is YAML, too.
  await writeFile(
    file,
    JSON.stringify({ apiVersion: 'v1', kind: 'Config', clusters: [cluster], users, contexts, 'current-context': 'admin' }),
  );
  return file;
}
