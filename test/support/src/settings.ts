/** The environment variables that tests read. */
export type Setting =
  /**
   * The address of a Consul with plain text and without access rules, which tests may use but not
   * damage: `http://127.0.0.1:8500`.
   */
  | 'INCUMBENT_TEST_CONSUL'
  /** A container image with `consul`, instead of one built here. */
  | 'INCUMBENT_CONSUL_IMAGE'
  /**
   * The address of an etcd with plain text and without users, which tests may use but not damage.
   */
  | 'INCUMBENT_TEST_ETCD'
  /** A container image with `etcd` and `etcdctl`, instead of one built here. */
  | 'INCUMBENT_ETCD_IMAGE'
  /**
   * The address of a Kubernetes API server, through a proxy that authenticates:
   * `http://127.0.0.1:8001`, as `kubectl proxy` has it. Tests use its namespace `default`.
   */
  | 'INCUMBENT_TEST_KUBERNETES'
  /**
   * The address of a PostgreSQL whose schemas and tables tests may create and drop:
   * `postgres://user@127.0.0.1:5432/database`.
   */
  | 'INCUMBENT_TEST_POSTGRES'
  /** A container image with PostgreSQL's programs on its PATH, instead of one built here. */
  | 'INCUMBENT_POSTGRES_IMAGE'
  /** The address of a Redis that tests may use but not damage: `redis://127.0.0.1:6379`. */
  | 'INCUMBENT_TEST_REDIS'
  /** A container image with Redis, instead of one built here. */
  | 'INCUMBENT_REDIS_IMAGE'
  /**
   * A container image with Valkey, whose programs also have Redis's names, instead of one built
   * here.
   */
  | 'INCUMBENT_VALKEY_IMAGE'
  /** The address of a ZooKeeper that tests may use but not damage: `zookeeper://127.0.0.1:2181`. */
  | 'INCUMBENT_TEST_ZOOKEEPER'
  /**
   * A container image with ZooKeeper and Java in the layout of the official one, instead of one
   * built here.
   */
  | 'INCUMBENT_ZOOKEEPER_IMAGE'
  /** The program of Chromium, for tests of pages. */
  | 'INCUMBENT_CHROMIUM'
  /** The folder of downloads. */
  | 'INCUMBENT_CACHE'
  /** The user's cache, by the convention of desktops. Default: `.cache` in the home folder. */
  | 'XDG_CACHE_HOME'
  /** `1`: tests also write the pictures of the documentation. */
  | 'INCUMBENT_PICTURES'
  /** `1`: a store that is not available is a failure instead of a skip. */
  | 'INCUMBENT_REQUIRE_STORES'
  /** The address of the process that holds the shared servers of this run. `setup.ts` sets it. */
  | 'INCUMBENT_TEST_BROKER'
  /** Why this run has no Kubernetes API server. `setup.ts` sets it. */
  | 'INCUMBENT_TEST_NO_API_SERVER'
  /** The file to which a test run writes its results. `run-twice.ts` sets it. */
  | 'INCUMBENT_TEST_REPORT';

/** The value of a variable. An empty one counts as absent. */
export function setting(name: Setting): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}
