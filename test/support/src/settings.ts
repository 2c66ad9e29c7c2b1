/** What can be asked for by the environment. */
export type Setting =
  /**
   * The address of a Consul in plain text and without rules, which tests may use and not harm:
   * `http://127.0.0.1:8500`.
   */
  | 'INCUMBENT_TEST_CONSUL'
  /** A container image with `consul`, instead of one built here. */
  | 'INCUMBENT_CONSUL_IMAGE'
  /** The address of an etcd in plain text and without users, which tests may use and not harm. */
  | 'INCUMBENT_TEST_ETCD'
  /** A container image with `etcd` and `etcdctl`, instead of one built here. */
  | 'INCUMBENT_ETCD_IMAGE'
  /**
   * The address of a PostgreSQL whose tables tests may make and drop:
   * `postgres://user@127.0.0.1:5432/database`.
   */
  | 'INCUMBENT_TEST_POSTGRES'
  /** The address of a Redis, likewise: `redis://127.0.0.1:6379`. */
  | 'INCUMBENT_TEST_REDIS'
  /** A container image with Redis, likewise. */
  | 'INCUMBENT_REDIS_IMAGE'
  /** A container image with Valkey that has its programs under Redis's names, too, likewise. */
  | 'INCUMBENT_VALKEY_IMAGE'
  /** The address of a ZooKeeper, likewise: `zookeeper://127.0.0.1:2181`. */
  | 'INCUMBENT_TEST_ZOOKEEPER'
  /** A container image with ZooKeeper and Java, laid out as the official one is, likewise. */
  | 'INCUMBENT_ZOOKEEPER_IMAGE'
  /** A Chromium's program, for tests of pages. */
  | 'INCUMBENT_CHROMIUM'
  /** Where downloads are kept. */
  | 'INCUMBENT_CACHE'
  /** `1`: a store that cannot be had is a failure, and not a skip. */
  | 'INCUMBENT_REQUIRE_STORES'
  /** The address of the process that holds the shared servers of this run; set by `setup.ts`. */
  | 'INCUMBENT_TEST_BROKER'
  /** The file to which a run of the tests writes what became of it; set by `run-twice.ts`. */
  | 'INCUMBENT_TEST_REPORT';

/** The value of a variable; one that is empty is as good as none. */
export function setting(name: Setting): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}
