/** Every store that can be tested under faults. */

import { openConsulSite, openEtcdSite, openKubernetesSite, openPostgresSite, openRedisSite, openZookeeperSite } from './servers.ts';
import type { Site, SiteOptions, StoreName } from './site.ts';
import { openSqliteSite } from './sqlite.ts';

export const sites: Readonly<Record<StoreName, (options: SiteOptions) => Promise<Site>>> = {
  consul: openConsulSite,
  etcd: openEtcdSite,
  kubernetes: openKubernetesSite,
  postgres: openPostgresSite,
  redis: openRedisSite,
  sqlite: openSqliteSite,
  zookeeper: openZookeeperSite,
};

export function isStoreName(name: string): name is StoreName {
  return Object.hasOwn(sites, name);
}
