/** The generated page of docs/reference that lists every option. */

import {
  hostOptions,
  leadUrlOptions,
  lockOptions,
  openStoreOptions,
} from './incumbent-option-help.ts';
import {
  keysResourceOptions,
  kubernetesOptions,
  podLabelOptions,
  publishOptions,
} from './kubernetes-option-help.ts';
import { memoryOptions, memoryServerOptions } from './memory-option-help.ts';
import {
  adminOptions,
  electionOptions,
  fenceOptions,
  groupOptions,
  leadOptions,
  memberOptions,
  observerOptions,
  storedValueObserverOptions,
  type OptionHelp,
  shutdownOptions,
  signalOptions,
  successionOptions,
} from './option-help.ts';
import { partitionOptions, slotOptions } from './slot-option-help.ts';
import {
  consulOptions,
  etcdOptions,
  keepaliveOptions,
  postgresOptions,
  redisOptions,
  sentinelOptions,
  sqliteOptions,
  tlsOptions,
  zookeeperOptions,
} from './store-option-help.ts';

/** One table of the page. */
interface OptionSection {
  readonly heading: string;
  readonly intro: string;
  readonly options: Readonly<Record<string, OptionHelp>>;
}

/** Names of nested options as a caller writes them: `keepalive.intervalMs`. */
function within(name: string, options: OptionSection['options']): OptionSection['options'] {
  return Object.fromEntries(Object.entries(options).map(([key, help]) => [`${name}.${key}`, help]));
}

const callSections: readonly OptionSection[] = [
  {
    heading: '`new Member(store, options)`',
    intro: `The durations must leave room for two renewals before the deadline
([timing](../timing.md)); otherwise the constructor throws \`INVALID_OPTION\` with the numbers.
\`member.timing\` has the durations in effect. \`Member\` of \`@incumbent/core\` has no \`logger\` and no
\`host\` by default, and takes no boolean as \`reaper\`.`,
    options: memberOptions,
  },
  {
    heading: '`member.election(name, options)`',
    intro: 'Only the first call for a name takes options. The name follows the rule of `memberId`.',
    options: electionOptions,
  },
  {
    heading:
      '`rendezvous(options)`, `byPriority(n, options)`, `byVersion(version, first, options)`, `byMemberId(id, compare, options)`',
    intro:
      'For the option `succession`. `n` is an integer from −1,000,000 to 1,000,000; the highest leads. ' +
      '`version` is a semantic version of at most 64 characters, and `first` is `newest` or `oldest`.',
    options: successionOptions,
  },
  { heading: '`election.lead(work, options)`', intro: '', options: leadOptions },
  {
    heading: '`election.campaign(options)`, `election.tryLead(work, options)`',
    intro: 'The same holds for the calls of a leadership, an observer, an admin and a group.',
    options: signalOptions,
  },
  {
    heading: '`new SlotElection(member, name, options)`',
    intro: 'Takes every option of `member.election`, and:',
    options: slotOptions,
  },
  {
    heading: '`new PartitionedElection(member, name, options)`',
    intro: 'Takes every option of `member.election` except `succession`, and:',
    options: partitionOptions,
  },
  { heading: '`member.shutdown(options)`', intro: '', options: shutdownOptions },
  { heading: '`member.group(name, options)`', intro: '', options: groupOptions },
  {
    heading: '`new ElectionObserver(store, name, options)`',
    intro: '',
    options: observerOptions,
  },
  {
    heading: '`new StoredValueObserver(store, key, options)`',
    intro: '',
    options: storedValueObserverOptions,
  },
  { heading: '`new ElectionAdmin(store, name, options)`', intro: '', options: adminOptions },
  { heading: '`new Fence(options)`', intro: '', options: fenceOptions },
  {
    heading: '`openStore(url, options)`',
    intro: `The options of the store itself are parameters of the URL, such as
\`etcd://127.0.0.1:2379/my-app?connectTimeoutMs=10000\`. In place of the URL,
\`openStore\`, \`lead\` and the option \`store\` of the integrations of frameworks take a function
that opens the store, such as \`() => openRedis({ client })\`.`,
    options: openStoreOptions,
  },
  {
    heading: '`lead(url, name, work, options)`',
    intro: `Takes every option of \`openStore\`, \`new Member\`, \`member.election\` and \`election.lead\`, and:`,
    options: leadUrlOptions,
  },
  {
    heading: '`withLock(store, key, work, options)`',
    intro: `Takes the options of \`new Member\` except \`memberId\`, \`onDuplicate\`, \`host\` and
\`rebalanceEveryMs\`; \`acceptWeakStore\`; and:`,
    options: lockOptions,
  },
  {
    heading: '`ElectionHost.open(options)`',
    intro: `Of \`incumbent/host\`. \`@incumbent/fastify\` and \`@incumbent/nestjs\` take them as well,
except \`onFailure\`. In Fastify, the default of \`waitMs\` depends on \`pluginTimeout\`.`,
    options: hostOptions,
  },
];

const storeSections: readonly OptionSection[] = [
  {
    heading: '`openSqlite`',
    intro: '`sqlite:./state.db?namespace=my-app`',
    options: sqliteOptions,
  },
  {
    heading: '`openEtcd`',
    intro: '`etcd://user:password@host1:2379,host2:2379/my-app`, with TLS `etcds://`',
    options: { ...etcdOptions, ...within('keepalive', keepaliveOptions) },
  },
  {
    heading: '`openZookeeper`',
    intro: '`zookeeper://user:password@host1:2181,host2:2181/my-app`, with TLS `zookeepers://`',
    options: zookeeperOptions,
  },
  {
    heading: '`openConsul`',
    intro: '`consul://:token@host:8500/my-app`, with TLS `consuls://`',
    options: consulOptions,
  },
  {
    heading: '`openKubernetes`',
    intro: `\`kubernetes:\` in a pod, \`kubernetes://context/namespace/prefix\` outside. In a context,
write \`/\` as \`%2F\`, \`:\` as \`%3A\` and \`@\` as \`%40\`.`,
    options: { ...kubernetesOptions, ...within('keysResource', keysResourceOptions) },
  },
  {
    heading: '`publishLeader(store, election, options)`',
    intro: `Of \`@incumbent/kubernetes\`: shows the leader of any election to the tools of a cluster
([how](../../packages/kubernetes/README.md#show-the-leader-to-the-cluster)).`,
    options: { ...publishOptions, ...within('podLabel', podLabelOptions) },
  },
  {
    heading: '`openPostgres`',
    intro: `\`postgres://user:password@host1:5432,host2:5432/database?namespace=my-app\`, or
\`postgresql://\``,
    options: postgresOptions,
  },
  {
    heading: '`openRedis`',
    intro: `\`redis://user:password@host1:6379,host2:6379/my-app\`, or \`valkey://\`; with TLS \`rediss://\`,
\`valkeys://\`. With Sentinels
\`redis+sentinel://user:password@sentinel1:26379,sentinel2:26379/my-app?master=mymaster\`, with TLS
\`rediss+sentinel://\``,
    options: { ...redisOptions, ...within('sentinel', sentinelOptions) },
  },
  { heading: '`openMemory`', intro: '`memory:name/namespace`', options: memoryOptions },
  {
    heading: '`new MemoryServer(options)`',
    intro: `Also the option \`server\` of \`openMemory\`. \`server.connect(options)\` takes \`namespace\`,
\`latencyMs\` and \`clock\`, as above.`,
    options: memoryServerOptions,
  },
  {
    heading: 'TLS',
    intro: `The option \`tls\` of the stores with servers. A file is read again for each new connection.`,
    options: within('tls', tlsOptions),
  },
];

export const optionsPage = (notice: string): string => `${notice}

# Options

The options of the calls that elect, observe and open stores, with their defaults and what is
accepted. [Jobs](../../packages/cron/README.md), [Fastify](../../packages/fastify/README.md),
[NestJS](../../packages/nestjs/README.md) and [the peer package](../../packages/peer/README.md) have
their options on their own pages. An unknown name and a value out of range are
\`INVALID_OPTION\`: constructors throw it, and async calls reject with it. Names that end in \`Ms\` are
durations in milliseconds. Only \`file\`, \`endpoint\`, \`endpoints\` and the \`credentials\` of
PostgreSQL, \`slots\` and \`partitions\` are required.

${callSections.map((section) => sectionText('##', section, false)).join('\n')}
## Stores

\`openStore(url)\` reads these options from the URL. To pass an object instead, call the function of
the store's package: \`openEtcd({ endpoints: ['host1:2379'], namespace: 'my-app' })\`. Every \`open…\`
function also takes the URL.

${storeSections.map((section) => sectionText('###', section, true)).join('\n')}`;

function sectionText(
  level: string,
  { heading, intro, options }: OptionSection,
  isStore: boolean,
): string {
  const titles = [
    'option',
    ...(isStore ? ['in the URL'] : []),
    'type',
    'default',
    'range',
    'meaning',
  ];
  const rows = Object.entries(options).map(([name, help]) => [
    `\`${name}\``,
    ...(isStore ? [(help.parameter ?? '').replaceAll(/\w+/g, '`$&`')] : []),
    `\`${help.type}\``,
    shown(help.fallback),
    rangeOf(help),
    help.meaning,
  ]);
  const table = [titles, titles.map(() => '---'), ...rows].map(rowText).join('\n');
  return `${level} ${heading}\n\n${intro === '' ? '' : `${intro}\n\n`}${table}\n`;
}

function rowText(cells: readonly string[]): string {
  return `${cells.map((cell) => (cell === '' ? '| ' : `| ${cell.replaceAll('|', '\\|')} `)).join('')}|`;
}

function rangeOf({ range }: OptionHelp): string {
  if (range === undefined || typeof range === 'string') return range ?? '';
  return range.map(shown).join(' to ');
}

function shown(value: number | string | undefined): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : (value ?? '');
}
