import type { ImageSource } from '../../images/find.ts';
import type { StoreVersion } from '../types.ts';

const LIBRARIES = ['libatomic1', 'libcap2', 'libgcc-s1', 'libjemalloc2', 'liblzf1', 'libstdc++6', 'libsystemd0', 'libzstd1'];
const PLACE = ['WORKDIR /data', 'EXPOSE 6379'];

/** Contains `redis-server` and `redis-cli`. Valkey's programs have the same names here. */
export const redisImages: Readonly<Record<StoreVersion, ImageSource>> = {
  default: {
    setting: 'INCUMBENT_REDIS_IMAGE',
    recipe: {
      name: 'incumbent/redis:bookworm',
      release: 'bookworm',
      packages: [...['redis-server', 'redis-tools', ...LIBRARIES], ...['libgcrypt20', 'libgpg-error0', 'liblz4-1', 'liblzma5', 'libssl3']],
      instructions: ['CMD ["redis-server"]', ...PLACE],
    },
    published: 'redis:7.2.16@sha256:74566c6910d13ae61e7ce73ebd3127438a1fe805b309b097c323142719ec8a5b',
  },
  newer: {
    setting: 'INCUMBENT_VALKEY_IMAGE',
    recipe: {
      name: 'incumbent/valkey:trixie',
      release: 'trixie',
      packages: [...['valkey-server', 'valkey-tools', ...LIBRARIES], ...['libssl3t64', 'zlib1g']],
      links: { 'usr/local/bin/redis-server': '/usr/bin/valkey-server', 'usr/local/bin/redis-cli': '/usr/bin/valkey-cli' },
      instructions: ['CMD ["valkey-server"]', ...PLACE],
    },
    published: 'valkey/valkey:8.1.10@sha256:640c5e62cea04b6d6f2084232651d0cc70362d31f4f805e7be94dbed6855e8f2',
  },
};
