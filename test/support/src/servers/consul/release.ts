/** The last release of Debian that has Consul. */
export const CONSUL_RELEASE = 'bullseye';
