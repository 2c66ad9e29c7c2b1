import type { ImageSource } from '../images/find.ts';
import type { Setting } from '../settings.ts';
import { consulImage } from './consul/image.ts';
import { etcdImages } from './etcd/image.ts';
import { redisImages } from './redis/image.ts';
import { zookeeperImages } from './zookeeper/image.ts';

/** An image as the compose files have it. */
export interface ComposeImage extends Omit<ImageSource, 'setting'> {
  /** The variable that names another. */
  readonly setting: Setting;
}

/** What `docker/` runs: of each store the newest that there are packages of. */
export const composeImages: Readonly<Record<'consul' | 'etcd' | 'redis' | 'valkey' | 'zookeeper', ComposeImage>> = {
  consul: { ...consulImage, setting: 'INCUMBENT_CONSUL_IMAGE' },
  etcd: { ...etcdImages.newer, setting: 'INCUMBENT_ETCD_IMAGE' },
  redis: { ...redisImages.default, setting: 'INCUMBENT_REDIS_IMAGE' },
  valkey: { ...redisImages.newer, setting: 'INCUMBENT_VALKEY_IMAGE' },
  zookeeper: { ...zookeeperImages.newer, setting: 'INCUMBENT_ZOOKEEPER_IMAGE' },
};
