import type { ImageSource } from '../../images/find.ts';
import { CONSUL_RELEASE } from './release.ts';

/** Contains `consul`, which is both the agent and the tool. */
export const consulImage: ImageSource = {
  setting: 'INCUMBENT_CONSUL_IMAGE',
  recipe: {
    name: `incumbent/consul:${CONSUL_RELEASE}`,
    release: CONSUL_RELEASE,
    packages: ['consul'],
    instructions: ['CMD ["consul", "agent", "-dev", "-client=0.0.0.0"]', 'EXPOSE 8300 8301 8301/udp 8500'],
  },
  published: 'hashicorp/consul:1.22.5',
};
