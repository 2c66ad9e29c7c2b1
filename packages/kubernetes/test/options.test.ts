import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { makeScratch } from '@incumbent/test-support';
import { expect, it } from 'vitest';

import { openKubernetes, type KubernetesOptions } from '../src/index.ts';

it.each<readonly [string, KubernetesOptions]>([
  ['certificates for a server without TLS, which would not use them,', { server: 'http://127.0.0.1:1', tls: {} }],
  ['a password in the URL of the server, which would not be sent,', { server: 'https://:secret@127.0.0.1:1' }],
  ['a fragment in the URL of the server', { server: 'https://127.0.0.1:1/#secret' }],
])('%s is refused, and the error has no secret', async (_, options) => {
  const error: unknown = await openKubernetes({ ...options, token: 'secret' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'INVALID_OPTION' });
  expect(String(error)).not.toContain('secret');
});

it('a parameter of a URL that is given twice is refused', async () => {
  const refusal = { code: 'INVALID_OPTION', message: expect.stringContaining('watchMs is an array of 2: it must be given once') };
  await expect(openKubernetes('kubernetes:?watchMs=1000&watchMs=2000')).rejects.toMatchObject(refusal);
});

it('a context whose server has no TLS is refused, because the reader of the kubeconfig gives no credentials for it', async () => {
  const folder = await makeScratch('kubeconfig');
  const kubeconfig = join(folder.path, 'kubeconfig');
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: 'http://127.0.0.1:8001' } }],
    users: [{ name: 'test', user: {} }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  const refusal = { code: 'INVALID_OPTION', message: expect.stringContaining('for kubectl proxy pass the option server') };
  await expect(openKubernetes({ kubeconfig })).rejects.toMatchObject(refusal);
  await folder.remove();
});
