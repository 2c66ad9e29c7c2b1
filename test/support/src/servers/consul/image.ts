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
  published: 'consul:1.15.4@sha256:362519540425cf077229da3851f3b80d622742dd81f1b2014863c044c2124ef3',
};
