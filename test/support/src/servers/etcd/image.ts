import type { ImageSource } from '../../images/find.ts';
import type { ImageRecipe } from '../../images/recipe.ts';
import type { StoreVersion } from '../types.ts';

/** Contains `etcd` and `etcdctl`. */
export const etcdImages: Readonly<Record<StoreVersion, ImageSource>> = {
  default: {
    setting: 'INCUMBENT_ETCD_IMAGE',
    recipe: recipe('bookworm'),
    published: 'quay.io/coreos/etcd:v3.5.18@sha256:d0a641d5fbcc89678c931a61b7de7b8a1cf097149f135c9c73bc81d076a1494b',
  },
  newer: {
    recipe: recipe('trixie'),
    published: 'quay.io/coreos/etcd:v3.5.25@sha256:52f17f7e56e4f7239f0320dbfcbcc24721163d7d78ae710b466af3254ccf6366',
  },
};

function recipe(release: string): ImageRecipe {
  return {
    name: `incumbent/etcd:${release}`,
    release,
    packages: ['etcd-server', 'etcd-client'],
    instructions: ['CMD ["etcd"]', 'EXPOSE 2379 2380'],
  };
}
