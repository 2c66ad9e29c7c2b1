import type { ImageSource } from '../images/find.ts';
import type { Setting } from '../settings.ts';
import { consulImage } from './consul/image.ts';
import { etcdImages } from './etcd/image.ts';
import { postgresImages } from './postgres/image.ts';
import { redisImages } from './redis/image.ts';
import { zookeeperImages } from './zookeeper/image.ts';

/** An image, as the compose files name it. */
export interface ComposeImage extends Omit<ImageSource, 'setting'> {
  /** The environment variable that may name another image. */
  readonly setting: Setting;
}

/** The images of `docker/`: the newest version of each store that has packages. */
export const composeImages: Readonly<Record<'consul' | 'etcd' | 'postgres' | 'redis' | 'valkey' | 'zookeeper', ComposeImage>> = {
  consul: { ...consulImage, setting: 'INCUMBENT_CONSUL_IMAGE' },
  etcd: { ...etcdImages.newer, setting: 'INCUMBENT_ETCD_IMAGE' },
  postgres: { ...postgresImages.newer, setting: 'INCUMBENT_POSTGRES_IMAGE' },
  redis: { ...redisImages.default, setting: 'INCUMBENT_REDIS_IMAGE' },
  valkey: { ...redisImages.newer, setting: 'INCUMBENT_VALKEY_IMAGE' },
  zookeeper: { ...zookeeperImages.newer, setting: 'INCUMBENT_ZOOKEEPER_IMAGE' },
};
