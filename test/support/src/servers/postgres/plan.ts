import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LOOPBACK } from '../../ports.ts';
import type { Certificates } from '../certificates.ts';
import type { InstancePlan } from '../instance.ts';
import { INITDB_FLAGS, SUPERUSER } from './template.ts';
import type { PostgresOptions } from './types.ts';

export interface ServerPlan extends Omit<PostgresOptions, 'version' | 'ownIdentity'> {
  readonly folder: string;
  readonly certificates: Certificates | undefined;
  readonly port: number;
  /** The data directory to copy. Default: a new one. */
  readonly template: string | undefined;
}

/**
 * Creates the data directory first: a copy of the primary that the file beside it names, a copy of
 * the template, or a new one. A copy that was interrupted is not used. `initdb` looks up the name
 * of its user, whom a container may not know.
 */
const LAUNCH = `
if [ ! -d "$DATA" ]; then
  rm -rf "$DATA.new"
  if [ -s "$DATA.primary" ]; then
    until pg_basebackup -D "$DATA.new" -d "$(cat "$DATA.primary")" -c fast -X stream -R --no-sync; do
      rm -rf "$DATA.new"
      sleep 0.2
    done
    sed -i '/synchronous_standby_names/d' "$DATA.new/postgresql.auto.conf"
  elif [ -n "$TEMPLATE" ]; then
    cp -a "$TEMPLATE" "$DATA.new" || exit 1
  else
    if ! grep -q "^[^:]*:[^:]*:$(id -u):" /etc/passwd; then
      for LD_PRELOAD in /usr/lib/*/libnss_wrapper.so; do :; done
      echo "user:x:$(id -u):$(id -g)::/:/bin/false" >"$DATA.passwd"
      export LD_PRELOAD NSS_WRAPPER_PASSWD="$DATA.passwd" NSS_WRAPPER_GROUP=/dev/null
    fi
    initdb -D "$DATA.new" -U "$SUPERUSER" -A "$METHOD" --pwfile="$DATA.password" ${INITDB_FLAGS.join(' ')} || exit 1
    unset LD_PRELOAD
  fi
  if [ -n "$ACCESS" ]; then echo "$ACCESS" >"$DATA.new/pg_hba.conf"; fi
  mv "$DATA.new" "$DATA"
fi
exec postgres -D "$DATA" "$@"
`;

/**
 * Settings that keep a server small and quick. All that protect its data have their defaults. Its
 * shared memory is in files of the data directory, because that of a killed server would stay.
 */
const SETTINGS = {
  dynamic_shared_memory_type: 'mmap',
  jit: 'off',
  listen_addresses: LOOPBACK,
  max_connections: '300',
  shared_buffers: '32MB',
  unix_socket_directories: '',
  max_wal_size: '128MB',
  min_wal_size: '32MB',
  wal_keep_size: '64MB',
  wal_retrieve_retry_interval: '200ms',
};

export async function instancePlan(plan: ServerPlan): Promise<InstancePlan> {
  const { folder, port, auth, template = '' } = plan;
  const name = nameAt(port);
  const data = join(folder, name);
  await writeFile(`${data}.password`, `${auth?.password ?? 'unused'}\n`);
  const settings = { ...SETTINGS, port: String(port), ...tlsSettings(plan), ...plan.settings };
  const flags = Object.entries(settings).flatMap(([setting, value]) => ['-c', `${setting}=${value}`]);
  return {
    program: 'sh',
    args: ['-c', LAUNCH, 'launch', ...flags],
    env: { DATA: data, TEMPLATE: template, SUPERUSER: auth?.user ?? SUPERUSER, METHOD: methodOf(plan), ACCESS: accessRules(plan) },
    folder,
    name,
    refusesRoot: true,
  };
}

/** A server is named after its port. Its data directory and its log have the same name. */
export function nameAt(port: number | string): string {
  return `postgres-${port}`;
}

/** Makes the server on the port a standby of the primary when its data directory is created. */
export function setPrimary(folder: string, port: number | string, primaryPort: number): Promise<void> {
  const primary = `host=${LOOPBACK} port=${primaryPort} user=${SUPERUSER} application_name=${nameAt(port)} connect_timeout=5`;
  return writeFile(join(folder, `${nameAt(port)}.primary`), primary);
}

export function urlOf({ port, auth }: Pick<ServerPlan, 'port' | 'auth'>): string {
  const login = auth === undefined ? SUPERUSER : `${encodeURIComponent(auth.user)}:${encodeURIComponent(auth.password)}`;
  return `postgres://${login}@${LOOPBACK}:${port}/postgres`;
}

function methodOf({ auth }: ServerPlan): string {
  return auth === undefined ? 'trust' : 'scram-sha-256';
}

/** `pg_hba.conf`, if it is not the one that initdb writes. */
function accessRules(plan: ServerPlan): string {
  const { tls } = plan;
  if (tls === undefined) return '';
  return `hostssl all all ${LOOPBACK}/32 ${methodOf(plan)}${tls === 'mutual' ? ' clientcert=verify-ca' : ''}`;
}

function tlsSettings({ certificates }: ServerPlan): Readonly<Record<string, string>> {
  if (certificates === undefined) return {};
  const { ca, server } = certificates;
  return { ssl: 'on', ssl_cert_file: server.cert, ssl_key_file: server.key, ssl_ca_file: ca };
}
