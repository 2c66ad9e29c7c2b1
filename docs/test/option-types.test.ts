/**
 * `memberId: process.env.MEMBER_ID` compiles with TypeScript's `exactOptionalPropertyTypes`, which
 * this repository has set: every option that may be absent may also be undefined.
 */

import type { ConsulOptions } from '@incumbent/consul';
import type { MemberOptions as CoreMemberOptions } from '@incumbent/core';
import type { FleetCronOptions, NodeCronOptions } from '@incumbent/cron';
import type { EtcdOptions, KeepaliveOptions } from '@incumbent/etcd';
import type { IncumbentOptions } from '@incumbent/fastify';
import type { KubernetesOptions, PublishOptions } from '@incumbent/kubernetes';
import type { MemoryOptions, MemoryServerOptions } from '@incumbent/memory';
import type { IncumbentModuleOptions } from '@incumbent/nestjs';
import type { PeerMemberOptions, TcpTransportOptions } from '@incumbent/peer';
import type { PostgresOptions, PostgresPoolOptions } from '@incumbent/postgres';
import type { RedisOptions, SentinelOptions } from '@incumbent/redis';
import type { SqliteOptions } from '@incumbent/sqlite';
import type { ZookeeperOptions } from '@incumbent/zookeeper';
import type {
  ElectionAdminOptions,
  ElectionOptions,
  FenceOptions,
  GroupOptions,
  LeadOptions,
  LeadUrlOptions,
  LockOptions,
  MemberOptions,
  ObserverOptions,
  OpenStoreOptions,
  PartitionOptions,
  ShutdownOptions,
  SlotOptions,
  StoredValueObserverOptions,
  SuccessionOptions,
} from 'incumbent';
import type { HostOptions } from 'incumbent/host';
import { expectTypeOf, test } from 'vitest';

/** The names of the options that may be absent, but not undefined. */
type Refused<O> = {
  readonly [Name in keyof O]-?: object extends Pick<O, Name>
    ? { readonly [Only in Name]: undefined } extends Pick<O, Name>
      ? never
      : Name
    : never;
}[keyof O];

test('an option that may be absent may be undefined', () => {
  // What the type finds if the options do not say `| undefined`.
  expectTypeOf<Refused<{ readonly must: string; readonly may?: string; readonly can?: string | undefined }>>().toEqualTypeOf<'may'>();

  expectTypeOf<Refused<CoreMemberOptions>>().toBeNever();
  expectTypeOf<Refused<MemberOptions>>().toBeNever();
  expectTypeOf<Refused<ElectionOptions>>().toBeNever();
  expectTypeOf<Refused<SuccessionOptions>>().toBeNever();
  expectTypeOf<Refused<LeadOptions>>().toBeNever();
  expectTypeOf<Refused<ShutdownOptions>>().toBeNever();
  expectTypeOf<Refused<SlotOptions>>().toBeNever();
  expectTypeOf<Refused<PartitionOptions>>().toBeNever();
  expectTypeOf<Refused<GroupOptions>>().toBeNever();
  expectTypeOf<Refused<ObserverOptions>>().toBeNever();
  expectTypeOf<Refused<StoredValueObserverOptions>>().toBeNever();
  expectTypeOf<Refused<ElectionAdminOptions>>().toBeNever();
  expectTypeOf<Refused<FenceOptions>>().toBeNever();
  expectTypeOf<Refused<OpenStoreOptions>>().toBeNever();
  expectTypeOf<Refused<LeadUrlOptions>>().toBeNever();
  expectTypeOf<Refused<LockOptions>>().toBeNever();
  expectTypeOf<Refused<HostOptions>>().toBeNever();

  expectTypeOf<Refused<SqliteOptions>>().toBeNever();
  expectTypeOf<Refused<EtcdOptions>>().toBeNever();
  expectTypeOf<Refused<KeepaliveOptions>>().toBeNever();
  expectTypeOf<Refused<ZookeeperOptions>>().toBeNever();
  expectTypeOf<Refused<ConsulOptions>>().toBeNever();
  expectTypeOf<Refused<KubernetesOptions>>().toBeNever();
  expectTypeOf<Refused<PublishOptions>>().toBeNever();
  expectTypeOf<Refused<PostgresOptions>>().toBeNever();
  expectTypeOf<Refused<PostgresPoolOptions>>().toBeNever();
  expectTypeOf<Refused<RedisOptions>>().toBeNever();
  expectTypeOf<Refused<SentinelOptions>>().toBeNever();
  expectTypeOf<Refused<MemoryOptions>>().toBeNever();
  expectTypeOf<Refused<MemoryServerOptions>>().toBeNever();

  expectTypeOf<Refused<FleetCronOptions>>().toBeNever();
  expectTypeOf<Refused<NodeCronOptions>>().toBeNever();
  expectTypeOf<Refused<IncumbentOptions>>().toBeNever();
  expectTypeOf<Refused<IncumbentModuleOptions>>().toBeNever();
  expectTypeOf<Refused<PeerMemberOptions<'quorum'>>>().toBeNever();
  expectTypeOf<Refused<TcpTransportOptions>>().toBeNever();
});

test('the options of an election with a type of values are options of an election', () => {
  expectTypeOf<ElectionOptions<{ readonly host: string }>>().toExtend<ElectionOptions>();
});
