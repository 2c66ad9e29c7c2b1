/** The tables of a schema, and the triggers that keep revisions, notifications and leases right. */

/**
 * The server takes less than 8,000 bytes. This many bytes of keys and their revision leave room for
 * the time of the next end of a lease.
 */
const MAX_NOTIFICATION_BYTES = 7_900;

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
 * - A call of the store locks the namespace before a lease, and deleting a lease by hand locks the
 *   lease first. If a call ends the same lease at that moment, the server detects the deadlock and
 *   rolls one of the two back. The other one ends the lease.
 * - A transaction sends one notification for each namespace in which it changes keys, or more if
 *   the names of the keys do not fit into one.
 *
 * `@schema` stands for the quoted name of the schema, and `@name` for the name in a text.
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

-- Called for every change of a key. Returns the revision, which all changes of one transaction
-- share: the first of them counts up, and so locks the namespace. A setting, which ends with the
-- transaction, has the revision and the keys that nobody was notified of yet, one on each line.
CREATE OR REPLACE FUNCTION @schema.record_change(p_id bigint, p_key text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_setting text := 'incumbent.@name_' || p_id;
  v_changes text := coalesce(current_setting(v_setting, true), '');
  v_revision bigint;
BEGIN
  IF v_changes = '' THEN
    -- Before the update: a transaction may let its trigger run at once. Then every change counts.
    PERFORM set_config(v_setting, E'\\n' || p_key, true);
    UPDATE @schema.namespaces
      SET revision = greatest(revision + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
      WHERE id = p_id RETURNING revision INTO v_revision;
    IF current_setting(v_setting) <> '' THEN
      PERFORM set_config(v_setting, v_revision || E'\\n' || p_key, true);
    END IF;
    RETURN v_revision;
  END IF;
  v_revision := split_part(v_changes, E'\\n', 1)::bigint;
  IF octet_length(v_changes) + octet_length(p_key) > ${MAX_NOTIFICATION_BYTES} THEN
    PERFORM @schema.notify_of(p_id, v_revision, v_changes);
    v_changes := v_revision::text;
  END IF;
  PERFORM set_config(v_setting, v_changes || E'\\n' || p_key, true);
  RETURN v_revision;
END $$;

-- The server sends the notification when the transaction commits.
CREATE OR REPLACE FUNCTION @schema.notify_of(p_id bigint, p_revision bigint, p_changes text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(n.channel, concat(
      p_revision, ' ',
      coalesce(ceil(extract(epoch FROM n.next_end - clock_timestamp()) * 1000)::bigint::text, '-'),
      substr(p_changes, position(E'\\n' IN p_changes))))
    FROM @schema.namespaces n WHERE n.id = p_id;
END $$;

CREATE OR REPLACE FUNCTION @schema.count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM @schema.record_change(OLD.namespace, OLD.key);
    RETURN OLD;
  END IF;
  IF TG_OP = 'UPDATE' AND (NEW.namespace, NEW.key) IS DISTINCT FROM (OLD.namespace, OLD.key) THEN
    PERFORM @schema.record_change(OLD.namespace, OLD.key);
  END IF;
  NEW.revision := @schema.record_change(NEW.namespace, NEW.key);
  NEW.created := CASE WHEN TG_OP = 'INSERT' THEN NEW.revision ELSE OLD.created END;
  RETURN NEW;
END $$;

-- Runs once at the end of a transaction that has changed keys of the namespace.
CREATE OR REPLACE FUNCTION @schema.announce() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_setting text := 'incumbent.@name_' || NEW.id;
  v_changes text := current_setting(v_setting, true);
BEGIN
  IF v_changes <> '' THEN
    PERFORM @schema.notify_of(NEW.id, NEW.revision, v_changes);
    -- For a transaction that lets the trigger run before its end.
    PERFORM set_config(v_setting, '', true);
  END IF;
  RETURN NULL;
END $$;

-- The lock comes first, because an operator's DELETE has not locked the namespace: the deletion of
-- the keys then sees a key that a claim has bound to the lease meanwhile, and later claims wait.
CREATE OR REPLACE FUNCTION @schema.end_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM @schema.namespaces WHERE id = OLD.namespace FOR NO KEY UPDATE;
  DELETE FROM @schema.keys WHERE namespace = OLD.namespace AND lease = OLD.id;
  RETURN NULL;
END $$;

-- Creates only what is missing, because creating an index or a trigger waits for every transaction
-- that writes to the table, and dropping a trigger also for those that only read it. Everybody else
-- would wait behind. An index or a trigger that changes in a later version therefore gets a new name.
DO $missing$
BEGIN
  IF to_regclass('@schema.keys_by_lease') IS NULL THEN
    CREATE INDEX keys_by_lease ON @schema.keys (namespace, lease) WHERE lease IS NOT NULL;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '@schema.keys'::regclass AND tgname = 'count_change') THEN
    CREATE TRIGGER count_change BEFORE INSERT OR UPDATE OR DELETE ON @schema.keys
      FOR EACH ROW EXECUTE FUNCTION @schema.count_change();
  END IF;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '@schema.namespaces'::regclass AND tgname = 'announce') THEN
    CREATE CONSTRAINT TRIGGER announce AFTER UPDATE OF revision ON @schema.namespaces DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION @schema.announce();
  END IF;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '@schema.leases'::regclass AND tgname = 'end_lease') THEN
    CREATE TRIGGER end_lease AFTER DELETE ON @schema.leases
      FOR EACH ROW EXECUTE FUNCTION @schema.end_lease();
  END IF;
END $missing$;
`;
