/** The tables of a schema, and the triggers that keep revisions, notifications and leases right. */

/**
 * - A row of `namespaces` is one namespace. Every call that changes keys locks this row first, so
 *   the changes of a namespace happen one after another. `revision` is the counter for revisions
 *   and for the order of creation. It is a time in microseconds, or one more than the last value,
 *   so that it rises even after a failover that lost commits. No lease of the namespace ends before
 *   `next_end`. `timeline` names the server history by whose clock the leases end.
 * - A row of `leases` is a lease that exists until the row is deleted. No index contains
 *   `ends_at`, so that a renewal is a heap-only update, which leaves nothing behind in indexes.
 * - A row of `keys` is a key. The key `elections/<name>/term` is the row that every claim of that
 *   election updates.
 * - The triggers also serve people who change rows by hand: the revision changes, watches are
 *   notified, and deleting a lease deletes its keys.
 *
 * `@schema` stands for the name of the schema.
 */
export const TABLES: string = `
CREATE SCHEMA IF NOT EXISTS @schema;

CREATE TABLE IF NOT EXISTS @schema.namespaces (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  channel text NOT NULL,
  revision bigint NOT NULL DEFAULT 0,
  next_end timestamptz,
  timeline text NOT NULL,
  system bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS @schema.leases (
  namespace bigint NOT NULL,
  id text NOT NULL,
  ttl_ms bigint NOT NULL,
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

CREATE TABLE IF NOT EXISTS @schema.keys (
  namespace bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  revision bigint NOT NULL,
  created bigint NOT NULL,
  lease text,
  PRIMARY KEY (namespace, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
CREATE INDEX IF NOT EXISTS keys_by_lease ON @schema.keys (namespace, lease) WHERE lease IS NOT NULL;

CREATE OR REPLACE FUNCTION @schema.count_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_old @schema.keys := OLD;
  v_new @schema.keys := NEW;
  v_space @schema.namespaces;
BEGIN
  UPDATE @schema.namespaces
    SET revision = greatest(revision + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    WHERE id = coalesce(v_new.namespace, v_old.namespace)
    RETURNING * INTO v_space;
  PERFORM pg_notify(v_space.channel, concat(
    v_space.revision, ' ',
    coalesce(ceil(extract(epoch FROM v_space.next_end - clock_timestamp()) * 1000)::bigint::text, '-'), ' ',
    coalesce(v_new.key, v_old.key)));
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  NEW.revision := v_space.revision;
  NEW.created := CASE WHEN TG_OP = 'INSERT' THEN v_space.revision ELSE OLD.created END;
  RETURN NEW;
END $$;
DROP TRIGGER IF EXISTS count_change ON @schema.keys;
CREATE TRIGGER count_change BEFORE INSERT OR UPDATE OR DELETE ON @schema.keys
  FOR EACH ROW EXECUTE FUNCTION @schema.count_change();

CREATE OR REPLACE FUNCTION @schema.end_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM @schema.keys WHERE namespace = OLD.namespace AND lease = OLD.id;
  RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS end_lease ON @schema.leases;
CREATE TRIGGER end_lease AFTER DELETE ON @schema.leases
  FOR EACH ROW EXECUTE FUNCTION @schema.end_lease();
`;
