BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('incumbent schema incumbent', 0));

CREATE SCHEMA IF NOT EXISTS incumbent;

CREATE TABLE IF NOT EXISTS incumbent.namespaces (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  channel text NOT NULL,
  revision bigint NOT NULL DEFAULT 0,
  next_end timestamptz,
  timeline text NOT NULL,
  system bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS incumbent.leases (
  namespace bigint NOT NULL,
  id text NOT NULL,
  ttl_ms bigint NOT NULL,
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (namespace, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

CREATE TABLE IF NOT EXISTS incumbent.keys (
  namespace bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  revision bigint NOT NULL,
  created bigint NOT NULL,
  lease text,
  PRIMARY KEY (namespace, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
CREATE INDEX IF NOT EXISTS keys_by_lease ON incumbent.keys (namespace, lease) WHERE lease IS NOT NULL;

CREATE OR REPLACE FUNCTION incumbent.count_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_old incumbent.keys := OLD;
  v_new incumbent.keys := NEW;
  v_space incumbent.namespaces;
BEGIN
  UPDATE incumbent.namespaces
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
DROP TRIGGER IF EXISTS count_change ON incumbent.keys;
CREATE TRIGGER count_change BEFORE INSERT OR UPDATE OR DELETE ON incumbent.keys
  FOR EACH ROW EXECUTE FUNCTION incumbent.count_change();

CREATE OR REPLACE FUNCTION incumbent.end_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM incumbent.keys WHERE namespace = OLD.namespace AND lease = OLD.id;
  RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS end_lease ON incumbent.leases;
CREATE TRIGGER end_lease AFTER DELETE ON incumbent.leases
  FOR EACH ROW EXECUTE FUNCTION incumbent.end_lease();

-- Names the history of this server. A promoted standby begins a new one.
CREATE OR REPLACE FUNCTION incumbent.timeline() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
$$;

-- For every call: a standby answers with an error, no lock is waited for longer than the call may
-- take, and a commit is on disk, and on the synchronous standbys, before it is acknowledged.
CREATE OR REPLACE FUNCTION incumbent.begin_call(p_timeout_ms integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'the server is a standby, which accepts no writes' USING ERRCODE = 'IC001';
  END IF;
  PERFORM set_config('lock_timeout', p_timeout_ms::text, true);
  IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

-- Refuses to change anything for a caller who has given up.
CREATE OR REPLACE FUNCTION incumbent.check_time(p_timeout_ms integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF clock_timestamp() > statement_timestamp() + p_timeout_ms * interval '1 millisecond' THEN
    RAISE EXCEPTION 'the call waited for longer than % ms', p_timeout_ms USING ERRCODE = 'IC002';
  END IF;
END $$;

-- Locks the namespace until the end of the transaction, creates it if it is absent, and ends the
-- leases whose time is over. After a failover or a restored dump, every lease gets its whole ttl
-- again, because the times in the table are of another machine's clock.
CREATE OR REPLACE FUNCTION incumbent.lock_namespace(p_namespace text, p_timeout_ms integer, p_system bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_space incumbent.namespaces;
  v_now timestamptz;
  v_timeline text;
BEGIN
  PERFORM incumbent.begin_call(p_timeout_ms);
  v_timeline := incumbent.timeline();
  SELECT * INTO v_space FROM incumbent.namespaces WHERE name = p_namespace FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    INSERT INTO incumbent.namespaces (name, channel, timeline, system)
      VALUES (p_namespace, 'incumbent_' || md5('incumbent/' || p_namespace), v_timeline,
        coalesce(p_system, (SELECT system_identifier FROM pg_control_system())))
      ON CONFLICT (name) DO NOTHING;
    SELECT * INTO v_space FROM incumbent.namespaces WHERE name = p_namespace FOR NO KEY UPDATE;
  END IF;
  PERFORM incumbent.check_time(p_timeout_ms);
  v_now := clock_timestamp();
  IF v_space.timeline <> v_timeline OR v_space.system <> coalesce(p_system, v_space.system) THEN
    UPDATE incumbent.leases SET ends_at = v_now + ttl_ms * interval '1 millisecond' WHERE namespace = v_space.id;
    UPDATE incumbent.namespaces
      SET timeline = v_timeline, system = coalesce(p_system, v_space.system),
        next_end = (SELECT min(ends_at) FROM incumbent.leases WHERE namespace = v_space.id)
      WHERE id = v_space.id;
  ELSIF v_space.next_end <= v_now THEN
    -- Before the deletion, because its notifications say when the next lease may end.
    UPDATE incumbent.namespaces
      SET next_end = (SELECT min(ends_at) FROM incumbent.leases WHERE namespace = v_space.id AND ends_at > v_now)
      WHERE id = v_space.id;
    DELETE FROM incumbent.leases WHERE namespace = v_space.id AND ends_at <= v_now;
    -- And after it, because a lease stays if its renewal committed meanwhile.
    v_now := (SELECT min(ends_at) FROM incumbent.leases WHERE namespace = v_space.id);
    UPDATE incumbent.namespaces SET next_end = v_now WHERE id = v_space.id AND next_end IS DISTINCT FROM v_now;
  END IF;
  RETURN v_space.id;
END $$;

-- Returns the namespace for a call that only reads. Locks it only if a lease must end first.
CREATE OR REPLACE FUNCTION incumbent.look_at(p_namespace text, p_timeout_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_space incumbent.namespaces;
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'the server is a standby, which accepts no writes' USING ERRCODE = 'IC001';
  END IF;
  SELECT * INTO v_space FROM incumbent.namespaces WHERE name = p_namespace;
  IF FOUND AND v_space.timeline = incumbent.timeline() AND (v_space.next_end > clock_timestamp()) IS NOT FALSE THEN
    RETURN v_space.id;
  END IF;
  RETURN incumbent.lock_namespace(p_namespace, p_timeout_ms);
END $$;

-- What a store needs to know when it opens.
CREATE OR REPLACE FUNCTION incumbent.open_namespace(p_namespace text, p_timeout_ms integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  v_id := incumbent.lock_namespace(p_namespace, p_timeout_ms, (SELECT system_identifier FROM pg_control_system()));
  RETURN (SELECT channel FROM incumbent.namespaces WHERE id = v_id);
END $$;

-- The counter, and the ms until the next lease may end. Ends the leases whose time is over.
CREATE OR REPLACE FUNCTION incumbent.probe(p_namespace text, p_timeout_ms integer)
RETURNS TABLE (revision text, remaining_ms text) LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint := incumbent.look_at(p_namespace, p_timeout_ms);
BEGIN
  RETURN QUERY SELECT n.revision::text, ceil(extract(epoch FROM n.next_end - clock_timestamp()) * 1000)::bigint::text
    FROM incumbent.namespaces n WHERE n.id = v_id;
END $$;

CREATE OR REPLACE FUNCTION incumbent.grant_lease(p_namespace text, p_timeout_ms integer, p_lease text, p_ttl_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint := incumbent.lock_namespace(p_namespace, p_timeout_ms);
  v_end timestamptz := clock_timestamp() + p_ttl_ms * interval '1 millisecond';
BEGIN
  INSERT INTO incumbent.leases (namespace, id, ttl_ms, ends_at) VALUES (v_id, p_lease, p_ttl_ms, v_end);
  UPDATE incumbent.namespaces SET next_end = v_end WHERE id = v_id AND (next_end <= v_end) IS NOT TRUE;
END $$;

-- Returns the ttl. Null: the lease has ended. Locks only the lease.
CREATE OR REPLACE FUNCTION incumbent.renew_lease(p_namespace text, p_timeout_ms integer, p_lease text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_space incumbent.namespaces;
  v_ttl_ms bigint;
BEGIN
  PERFORM incumbent.begin_call(p_timeout_ms);
  SELECT * INTO v_space FROM incumbent.namespaces WHERE name = p_namespace;
  IF NOT FOUND OR v_space.timeline <> incumbent.timeline() THEN
    v_space.id := incumbent.lock_namespace(p_namespace, p_timeout_ms);
  END IF;
  UPDATE incumbent.leases SET ends_at = clock_timestamp() + ttl_ms * interval '1 millisecond'
    WHERE namespace = v_space.id AND id = p_lease AND ends_at > clock_timestamp()
    RETURNING ttl_ms INTO v_ttl_ms;
  RETURN v_ttl_ms::text;
END $$;

CREATE OR REPLACE FUNCTION incumbent.revoke_lease(p_namespace text, p_timeout_ms integer, p_lease text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint := incumbent.lock_namespace(p_namespace, p_timeout_ms);
BEGIN
  DELETE FROM incumbent.leases WHERE namespace = v_id AND id = p_lease;
END $$;

CREATE OR REPLACE FUNCTION incumbent.is_live(p_id bigint, p_lease text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT FROM incumbent.leases WHERE namespace = p_id AND id = p_lease AND ends_at > clock_timestamp())
$$;

-- Locks the terms that a swap changes, so that it waits for guarded transactions before it locks the
-- namespace. Other elections then do not wait. A term has no lease, so no call that has locked the
-- namespace waits for a term that it has not locked here.
CREATE OR REPLACE FUNCTION incumbent.lock_terms(p_namespace text, p_timeout_ms integer, p_keys text[], p_acts text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM incumbent.begin_call(p_timeout_ms);
  PERFORM FROM incumbent.keys k
    WHERE k.namespace = (SELECT n.id FROM incumbent.namespaces n WHERE n.name = p_namespace)
      AND k.key = ANY (SELECT c.key COLLATE "C" FROM unnest(p_keys, p_acts) AS c (key, act)
        WHERE c.act <> 'c' AND c.key LIKE 'elections/%/term')
      AND k.lease IS NULL
    ORDER BY k.key FOR NO KEY UPDATE;
END $$;

-- Swaps. A change is an element of each array: the key; the revision that it must have, null for
-- absent, below 0 for a revision that no key has; what to do: p puts, d deletes, c only checks; the
-- value; the lease: k keeps the binding, n unbinds, and l and a name bind to that lease. Answers
-- with rows of the kind "done", one for each change, "failed" or "lease".
CREATE OR REPLACE FUNCTION incumbent.swap(
  p_namespace text, p_timeout_ms integer, p_keys text[], p_expect bigint[], p_acts text[], p_values bytea[], p_leases text[])
RETURNS TABLE (kind text, place text, key text, value text, revision text, created text, lease text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_id bigint;
  v_lease text;
  v_revision bigint;
BEGIN
  PERFORM incumbent.lock_terms(p_namespace, p_timeout_ms, p_keys, p_acts);
  v_id := incumbent.lock_namespace(p_namespace, p_timeout_ms);
  RETURN QUERY SELECT 'failed', c.place::text, k.key::text, encode(k.value, 'base64'), k.revision::text, k.created::text, k.lease
    FROM unnest(p_keys, p_expect) WITH ORDINALITY AS c (key, expect, place)
    LEFT JOIN incumbent.keys k ON k.namespace = v_id AND k.key = c.key COLLATE "C"
    WHERE k.revision IS DISTINCT FROM c.expect;
  IF FOUND THEN
    RETURN;
  END IF;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    IF p_leases[i] LIKE 'l%' AND NOT incumbent.is_live(v_id, substr(p_leases[i], 2)) THEN
      RETURN QUERY SELECT 'lease', i::text, NULL::text, NULL::text, NULL::text, NULL::text, substr(p_leases[i], 2);
      RETURN;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    v_revision := NULL;
    v_lease := CASE WHEN p_leases[i] LIKE 'l%' THEN substr(p_leases[i], 2) END;
    IF p_acts[i] = 'p' AND p_expect[i] IS NULL THEN
      INSERT INTO incumbent.keys (namespace, key, value, lease) VALUES (v_id, p_keys[i], p_values[i], v_lease)
        RETURNING revision INTO v_revision;
    ELSIF p_acts[i] = 'p' THEN
      UPDATE incumbent.keys SET value = p_values[i], lease = CASE WHEN p_leases[i] = 'k' THEN lease ELSE v_lease END
        WHERE namespace = v_id AND key = p_keys[i] COLLATE "C" RETURNING revision INTO v_revision;
    ELSIF p_acts[i] = 'd' THEN
      DELETE FROM incumbent.keys WHERE namespace = v_id AND key = p_keys[i] COLLATE "C";
    END IF;
    RETURN QUERY SELECT 'done', i::text, NULL::text, NULL::text, v_revision::text, NULL::text, NULL::text;
  END LOOP;
END $$;

-- Answers with one row of the kind "done", "taken" or "lease".
CREATE OR REPLACE FUNCTION incumbent.enqueue(p_namespace text, p_timeout_ms integer, p_key text, p_value bytea, p_lease text)
RETURNS TABLE (kind text, place text, key text, value text, revision text, created text, lease text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_id bigint := incumbent.lock_namespace(p_namespace, p_timeout_ms);
BEGIN
  IF NOT incumbent.is_live(v_id, p_lease) THEN
    RETURN QUERY SELECT 'lease', '1', NULL::text, NULL::text, NULL::text, NULL::text, p_lease;
    RETURN;
  END IF;
  IF NOT EXISTS (SELECT FROM incumbent.keys k WHERE k.namespace = v_id AND k.key = p_key COLLATE "C") THEN
    INSERT INTO incumbent.keys (namespace, key, value, lease) VALUES (v_id, p_key, p_value, p_lease);
  END IF;
  RETURN QUERY SELECT CASE WHEN k.lease = p_lease THEN 'done' ELSE 'taken' END, '1', k.key::text,
      encode(k.value, 'base64'), k.revision::text, k.created::text, k.lease
    FROM incumbent.keys k WHERE k.namespace = v_id AND k.key = p_key COLLATE "C";
END $$;

CREATE OR REPLACE FUNCTION incumbent.check_size(p_bytes bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_bytes > 16777216 THEN
    RAISE EXCEPTION 'the answer would have % bytes, and 16777216 are allowed', p_bytes USING ERRCODE = 'IC003';
  END IF;
END $$;

-- Reads. A query is an element of each array: k reads a key and l lists the keys below a prefix;
-- the path; only keys created before; the first keys, or with a number below 0 the last ones;
-- whether to read values. Answers with one row for each entry, in the order of the queries.
CREATE OR REPLACE FUNCTION incumbent.read(
  p_namespace text, p_timeout_ms integer, p_kinds text[], p_paths text[], p_before bigint[], p_limits bigint[], p_values boolean[])
RETURNS TABLE (place text, key text, value text, revision text, created text, lease text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_id bigint := incumbent.look_at(p_namespace, p_timeout_ms);
  v_from text;
  v_to text;
  v_bytes bigint := 0;
BEGIN
  FOR i IN 1 .. cardinality(p_kinds) LOOP
    IF p_kinds[i] = 'k' THEN
      SELECT v_bytes + coalesce(sum(length(k.value)), 0) INTO v_bytes
        FROM incumbent.keys k WHERE k.namespace = v_id AND k.key = p_paths[i] COLLATE "C";
      PERFORM incumbent.check_size(v_bytes);
      RETURN QUERY SELECT i::text, k.key::text, encode(k.value, 'base64'), k.revision::text, k.created::text, k.lease
        FROM incumbent.keys k WHERE k.namespace = v_id AND k.key = p_paths[i] COLLATE "C";
      CONTINUE;
    END IF;
    -- "0" is the character after "/", so it ends the range of the keys below a prefix.
    v_from := p_paths[i] || '/';
    v_to := p_paths[i] || '0';
    SELECT v_bytes + coalesce(sum(100 + length(found.key) + CASE WHEN p_values[i] THEN length(found.value) ELSE 0 END), 0)
      INTO v_bytes
      FROM (SELECT k.key, k.value FROM incumbent.keys k
        WHERE k.namespace = v_id AND k.key > v_from COLLATE "C" AND k.key < v_to COLLATE "C"
          AND (k.created < p_before[i]) IS NOT FALSE
        ORDER BY CASE WHEN p_limits[i] < 0 THEN -k.created ELSE k.created END LIMIT abs(p_limits[i])) found;
    PERFORM incumbent.check_size(v_bytes);
    RETURN QUERY SELECT i::text, found.key::text, CASE WHEN p_values[i] THEN encode(found.value, 'base64') ELSE '' END,
        found.revision::text, found.created::text, found.lease
      FROM (SELECT * FROM incumbent.keys k
        WHERE k.namespace = v_id AND k.key > v_from COLLATE "C" AND k.key < v_to COLLATE "C"
          AND (k.created < p_before[i]) IS NOT FALSE
        ORDER BY CASE WHEN p_limits[i] < 0 THEN -k.created ELSE k.created END LIMIT abs(p_limits[i])) found
      ORDER BY found.created;
  END LOOP;
END $$;

-- The first statement of a leader's own transaction on this database. Shares a lock on the term
-- until the transaction ends. Every claim, handover and resignation changes the term, so it waits
-- for the transaction. Raises an error if the term is not the last one, or if the leader's lease has
-- ended. A transaction whose client stands still must not hold the lock for ever, so the server ends
-- one that is idle for longer than the ttl. The caller needs no rights on the tables.
CREATE OR REPLACE FUNCTION incumbent.guard(p_namespace text, p_election text, p_revision bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_id bigint;
  v_ttl_ms bigint;
  v_revision bigint;
  v_lock_timeout text := current_setting('lock_timeout');
  v_idle interval := current_setting('idle_in_transaction_session_timeout')::interval;
BEGIN
  SELECT n.id, l.ttl_ms INTO v_id, v_ttl_ms FROM incumbent.namespaces n
    JOIN incumbent.keys k ON k.namespace = n.id AND k.key = p_election || '/leader' COLLATE "C"
    JOIN incumbent.leases l ON l.namespace = n.id AND l.id = k.lease
    WHERE n.name = p_namespace;
  IF FOUND THEN
    PERFORM set_config('lock_timeout', v_ttl_ms::text, true);
    SELECT k.revision INTO v_revision FROM incumbent.keys k
      WHERE k.namespace = v_id AND k.key = p_election || '/term' COLLATE "C" FOR SHARE;
    PERFORM set_config('lock_timeout', v_lock_timeout, true);
  END IF;
  IF v_revision IS DISTINCT FROM p_revision OR NOT EXISTS (SELECT FROM incumbent.keys k
      JOIN incumbent.leases l ON l.namespace = k.namespace AND l.id = k.lease
      WHERE k.namespace = v_id AND k.key = p_election || '/leader' COLLATE "C" AND l.ends_at > clock_timestamp()) THEN
    RAISE EXCEPTION 'STALE_TERM: this leadership of % has ended', p_election
      USING ERRCODE = 'IC004', HINT = 'Roll back, and stop working as the leader.';
  END IF;
  IF v_idle = interval '0' OR v_idle > v_ttl_ms * interval '1 millisecond' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', v_ttl_ms::text, true);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION incumbent.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '1'::text $$;

COMMIT;
