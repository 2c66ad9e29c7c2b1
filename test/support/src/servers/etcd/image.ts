import type { ImageSource } from '../../images/find.ts';
import type { ImageRecipe } from '../../images/recipe.ts';
import type { StoreVersion } from '../types.ts';

/** Contains `etcd` and `etcdctl`. */
export const etcdImages: Readonly<Record<StoreVersion, ImageSource>> = {
  default: { setting: 'INCUMBENT_ETCD_IMAGE', recipe: recipe('bookworm'), published: 'quay.io/coreos/etcd:v3.4.37' },
  newer: { recipe: recipe('trixie'), published: 'quay.io/coreos/etcd:v3.5.21' },
};

function recipe(release: string): ImageRecipe {
  return {
    name: `incumbent/etcd:${release}`,
    release,
    packages: ['etcd-server', 'etcd-client'],
    instructions: ['CMD ["etcd"]', 'EXPOSE 2379 2380'],
  };
}
