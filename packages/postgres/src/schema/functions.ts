/**
 * The functions of a schema. Each call of the store is one statement that calls one of them.
 *
 * The functions are plpgsql and volatile, so each statement inside takes a new snapshot. A function
 * therefore locks first, then reads the clock, and then reads the tables. It never decides by data
 * or by a time that is older than its lock.
 *
 * A lease ends when its row is deleted. A call that sees a lease whose time is over deletes the
 * lease before it reads or changes anything. The deletion waits for a renewal that has not
 * committed yet, and then checks again, so no call reports a key as absent that comes back later.
 */

/**
 * SQLSTATEs that these functions raise, in a class that PostgreSQL does not use. `errors.ts` maps
 * them.
 */
export const RAISED: Readonly<Record<'standby' | 'late' | 'tooLarge' | 'staleTerm', string>> = {
  /** The server is a standby. */
  standby: 'IC001',
  /** The call waited longer than its time limit, and changed nothing. */
  late: 'IC002',
  /** The answer would be longer than 16 MiB. */
  tooLarge: 'IC003',
  /**
   * A newer term exists, or the leadership has ended: raised by `guard`, in transactions of users.
   */
  staleTerm: 'IC004',
};

/**
 * The bytes that an answer may have, and what each of its entries counts beside key and value: the
 * client counts 128 bytes for each column and each row, and ends the connection beyond its limit.
 */
const MAX_ANSWER_BYTES = 16 * 2 ** 20;
const ENTRY_BYTES = 1_024;
/** So many entries fit into an answer, each with the longest value. */
const MAX_FAILED = 16;

/** `@schema` stands for the quoted name of the schema, and `@name` for the name in a text. */
export const FUNCTIONS: string = `
-- Names the history of this server. A promoted standby begins a new one.
CREATE OR REPLACE FUNCTION @schema.timeline() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
$$;

-- For every call, before the first lock: a standby answers with an error, no lock is waited for
-- longer than the call may take, and a commit is on disk, and on the synchronous standbys, before it
-- is acknowledged. If the wait for a standby is cancelled, the server sends a warning, which must not
-- be turned off. A function that calls this one has no variable of a table's row type: the server
-- locks the table when it compiles the function, which is before the call.
CREATE OR REPLACE FUNCTION @schema.begin_call(p_timeout_ms integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'the server is a standby, which accepts no writes' USING ERRCODE = '${RAISED.standby}';
  END IF;
  PERFORM set_config('lock_timeout', p_timeout_ms::text, true);
  IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF current_setting('client_min_messages') = 'error' THEN
    PERFORM set_config('client_min_messages', 'warning', true);
  END IF;
END $$;

-- Refuses to change anything for a caller who has given up.
CREATE OR REPLACE FUNCTION @schema.check_time(p_timeout_ms integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF clock_timestamp() > statement_timestamp() + p_timeout_ms * interval '1 millisecond' THEN
    RAISE EXCEPTION 'the call waited for longer than % ms', p_timeout_ms USING ERRCODE = '${RAISED.late}';
  END IF;
END $$;

-- Ends the leases whose time is over, and notes when the next one ends. The caller has locked the
-- namespace. A lease that ends later than its ttl from now was renewed before the clock was set
-- back. It gets its whole ttl again. Each row is compared with a new reading of the clock, because
-- the update waits for a renewal that has not committed yet.
CREATE OR REPLACE FUNCTION @schema.expire_leases(p_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  UPDATE @schema.leases SET ends_at = clock_timestamp() + ttl_ms * interval '1 millisecond'
    WHERE namespace = p_id AND ends_at > clock_timestamp() + ttl_ms * interval '1 millisecond';
  DELETE FROM @schema.leases WHERE namespace = p_id AND ends_at <= v_now;
  -- After the deletion, because a lease stays if its renewal committed meanwhile.
  UPDATE @schema.namespaces SET next_end = (SELECT min(ends_at) FROM @schema.leases WHERE namespace = p_id)
    WHERE id = p_id;
END $$;

-- Locks the namespace until the end of the transaction, creates it if it is absent, and ends the
-- leases whose time is over. After a failover or a restored dump, every lease gets its whole ttl
-- again, because the times in the table are of another machine's clock.
CREATE OR REPLACE FUNCTION @schema.lock_namespace(p_namespace text, p_timeout_ms integer, p_system bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_space record;
  v_now timestamptz;
  v_timeline text;
BEGIN
  PERFORM @schema.begin_call(p_timeout_ms);
  v_timeline := @schema.timeline();
  SELECT * INTO v_space FROM @schema.namespaces WHERE name = p_namespace FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    INSERT INTO @schema.namespaces (name, channel, timeline, system)
      VALUES (p_namespace, 'incumbent_' || md5('@name/' || p_namespace), v_timeline,
        coalesce(p_system, (SELECT system_identifier FROM pg_control_system())))
      ON CONFLICT (name) DO NOTHING;
    SELECT * INTO v_space FROM @schema.namespaces WHERE name = p_namespace FOR NO KEY UPDATE;
  END IF;
  PERFORM @schema.check_time(p_timeout_ms);
  v_now := clock_timestamp();
  IF v_space.timeline <> v_timeline OR v_space.system <> coalesce(p_system, v_space.system) THEN
    UPDATE @schema.leases SET ends_at = v_now + ttl_ms * interval '1 millisecond' WHERE namespace = v_space.id;
    UPDATE @schema.namespaces
      SET timeline = v_timeline, system = coalesce(p_system, v_space.system),
        next_end = (SELECT min(ends_at) FROM @schema.leases WHERE namespace = v_space.id)
      WHERE id = v_space.id;
  ELSIF v_space.next_end <= v_now THEN
    PERFORM @schema.expire_leases(v_space.id);
  END IF;
  RETURN v_space.id;
END $$;

-- Returns the namespace for a call that only reads. Locks it only if a lease must end first.
CREATE OR REPLACE FUNCTION @schema.look_at(p_namespace text, p_timeout_ms integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_space record;
BEGIN
  PERFORM @schema.begin_call(p_timeout_ms);
  SELECT * INTO v_space FROM @schema.namespaces WHERE name = p_namespace;
  IF FOUND AND v_space.timeline = @schema.timeline() AND (v_space.next_end > clock_timestamp()) IS NOT FALSE THEN
    RETURN v_space.id;
  END IF;
  RETURN @schema.lock_namespace(p_namespace, p_timeout_ms);
END $$;

-- What a store needs to know when it opens.
CREATE OR REPLACE FUNCTION @schema.open_namespace(p_namespace text, p_timeout_ms integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  v_id := @schema.lock_namespace(p_namespace, p_timeout_ms, (SELECT system_identifier FROM pg_control_system()));
  RETURN (SELECT channel FROM @schema.namespaces WHERE id = v_id);
END $$;

-- The counter, and the ms until the next lease may end. Ends the leases whose time is over.
CREATE OR REPLACE FUNCTION @schema.probe(p_namespace text, p_timeout_ms integer)
RETURNS TABLE (revision text, remaining_ms text) LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint := @schema.look_at(p_namespace, p_timeout_ms);
BEGIN
  RETURN QUERY SELECT n.revision::text, ceil(extract(epoch FROM n.next_end - clock_timestamp()) * 1000)::bigint::text
    FROM @schema.namespaces n WHERE n.id = v_id;
END $$;

CREATE OR REPLACE FUNCTION @schema.grant_lease(p_namespace text, p_timeout_ms integer, p_lease text, p_ttl_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint := @schema.lock_namespace(p_namespace, p_timeout_ms);
  v_end timestamptz := clock_timestamp() + p_ttl_ms * interval '1 millisecond';
BEGIN
  INSERT INTO @schema.leases (namespace, id, ttl_ms, ends_at) VALUES (v_id, p_lease, p_ttl_ms, v_end);
  UPDATE @schema.namespaces SET next_end = v_end WHERE id = v_id AND (next_end <= v_end) IS NOT TRUE;
END $$;

-- Returns the ttl. Null: the lease has ended. Locks only the lease, except after a failover, and
-- when the clock was set back: the lease would then end before next_end, when nobody looks for it.
-- In these cases the namespace is locked before the lease, as in every other function.
CREATE OR REPLACE FUNCTION @schema.renew_lease(p_namespace text, p_timeout_ms integer, p_lease text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_space record;
  v_ttl_ms bigint;
BEGIN
  PERFORM @schema.begin_call(p_timeout_ms);
  SELECT * INTO v_space FROM @schema.namespaces WHERE name = p_namespace;
  IF NOT FOUND OR v_space.timeline <> @schema.timeline() THEN
    v_space.id := @schema.lock_namespace(p_namespace, p_timeout_ms);
  ELSIF v_space.next_end > clock_timestamp() + interval '1 millisecond'
      * (SELECT ttl_ms FROM @schema.leases WHERE namespace = v_space.id AND id = p_lease) THEN
    v_space.id := @schema.lock_namespace(p_namespace, p_timeout_ms);
    PERFORM @schema.expire_leases(v_space.id);
  END IF;
  UPDATE @schema.leases SET ends_at = clock_timestamp() + ttl_ms * interval '1 millisecond'
    WHERE namespace = v_space.id AND id = p_lease AND ends_at > clock_timestamp()
    RETURNING ttl_ms INTO v_ttl_ms;
  RETURN v_ttl_ms::text;
END $$;

CREATE OR REPLACE FUNCTION @schema.revoke_lease(p_namespace text, p_timeout_ms integer, p_lease text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint := @schema.lock_namespace(p_namespace, p_timeout_ms);
BEGIN
  DELETE FROM @schema.leases WHERE namespace = v_id AND id = p_lease;
END $$;

CREATE OR REPLACE FUNCTION @schema.is_live(p_id bigint, p_lease text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT FROM @schema.leases WHERE namespace = p_id AND id = p_lease AND ends_at > clock_timestamp())
$$;

-- Locks the terms that a swap changes, so that it waits for guarded transactions before it locks the
-- namespace. Other elections then do not wait. A term has no lease, so no call that has locked the
-- namespace waits for a term that it has not locked here.
CREATE OR REPLACE FUNCTION @schema.lock_terms(p_namespace text, p_timeout_ms integer, p_keys text[], p_acts text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM @schema.begin_call(p_timeout_ms);
  PERFORM FROM @schema.keys k
    WHERE k.namespace = (SELECT n.id FROM @schema.namespaces n WHERE n.name = p_namespace)
      AND k.key = ANY (SELECT c.key COLLATE "C" FROM unnest(p_keys, p_acts) AS c (key, act)
        WHERE c.act <> 'c' AND c.key LIKE 'elections/%/term')
      AND k.lease IS NULL
    ORDER BY k.key FOR NO KEY UPDATE;
END $$;

-- Swaps. A change is an element of each array: the key; the revision that it must have, null for
-- absent, below 0 for a revision that no key has; what to do: p puts, d deletes, c only checks; the
-- value; the lease: k keeps the binding, n unbinds, and l and a name bind to that lease. Answers
-- with rows of the kind "done", one for each change, or "failed", the first ones, or "lease".
CREATE OR REPLACE FUNCTION @schema.swap(
  p_namespace text, p_timeout_ms integer, p_keys text[], p_expect bigint[], p_acts text[], p_values bytea[], p_leases text[])
RETURNS TABLE (kind text, place text, key text, value text, revision text, created text, lease text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_id bigint;
  v_lease text;
  v_revision bigint;
BEGIN
  PERFORM @schema.lock_terms(p_namespace, p_timeout_ms, p_keys, p_acts);
  v_id := @schema.lock_namespace(p_namespace, p_timeout_ms);
  RETURN QUERY SELECT 'failed', c.place::text, k.key::text, encode(k.value, 'base64'), k.revision::text, k.created::text, k.lease
    FROM unnest(p_keys, p_expect) WITH ORDINALITY AS c (key, expect, place)
    LEFT JOIN @schema.keys k ON k.namespace = v_id AND k.key = c.key COLLATE "C"
    WHERE k.revision IS DISTINCT FROM c.expect
    ORDER BY c.place LIMIT ${MAX_FAILED};
  IF FOUND THEN
    RETURN;
  END IF;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    IF p_leases[i] LIKE 'l%' AND NOT @schema.is_live(v_id, substr(p_leases[i], 2)) THEN
      RETURN QUERY SELECT 'lease', i::text, NULL::text, NULL::text, NULL::text, NULL::text, substr(p_leases[i], 2);
      RETURN;
    END IF;
  END LOOP;
  FOR i IN 1 .. cardinality(p_keys) LOOP
    v_revision := NULL;
    v_lease := CASE WHEN p_leases[i] LIKE 'l%' THEN substr(p_leases[i], 2) END;
    IF p_acts[i] = 'p' AND p_expect[i] IS NULL THEN
      INSERT INTO @schema.keys (namespace, key, value, lease) VALUES (v_id, p_keys[i], p_values[i], v_lease)
        RETURNING revision INTO v_revision;
    ELSIF p_acts[i] = 'p' THEN
      UPDATE @schema.keys SET value = p_values[i], lease = CASE WHEN p_leases[i] = 'k' THEN lease ELSE v_lease END
        WHERE namespace = v_id AND key = p_keys[i] COLLATE "C" RETURNING revision INTO v_revision;
    ELSIF p_acts[i] = 'd' THEN
      DELETE FROM @schema.keys WHERE namespace = v_id AND key = p_keys[i] COLLATE "C";
    END IF;
    RETURN QUERY SELECT 'done', i::text, NULL::text, NULL::text, v_revision::text, NULL::text, NULL::text;
  END LOOP;
END $$;

-- Answers with one row of the kind "done", "taken" or "lease".
CREATE OR REPLACE FUNCTION @schema.enqueue(p_namespace text, p_timeout_ms integer, p_key text, p_value bytea, p_lease text)
RETURNS TABLE (kind text, place text, key text, value text, revision text, created text, lease text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_id bigint := @schema.lock_namespace(p_namespace, p_timeout_ms);
BEGIN
  IF NOT @schema.is_live(v_id, p_lease) THEN
    RETURN QUERY SELECT 'lease', '1', NULL::text, NULL::text, NULL::text, NULL::text, p_lease;
    RETURN;
  END IF;
  IF NOT EXISTS (SELECT FROM @schema.keys k WHERE k.namespace = v_id AND k.key = p_key COLLATE "C") THEN
    INSERT INTO @schema.keys (namespace, key, value, lease) VALUES (v_id, p_key, p_value, p_lease);
  END IF;
  RETURN QUERY SELECT CASE WHEN k.lease = p_lease THEN 'done' ELSE 'taken' END, '1', k.key::text,
      encode(k.value, 'base64'), k.revision::text, k.created::text, k.lease
    FROM @schema.keys k WHERE k.namespace = v_id AND k.key = p_key COLLATE "C";
END $$;

CREATE OR REPLACE FUNCTION @schema.check_size(p_bytes bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_bytes > ${MAX_ANSWER_BYTES} THEN
    RAISE EXCEPTION 'the answer would have % bytes, and ${MAX_ANSWER_BYTES} are allowed', p_bytes USING ERRCODE = '${RAISED.tooLarge}';
  END IF;
END $$;

-- Reads. A query is an element of each array: k reads a key and l lists the keys below a prefix;
-- the path; only keys created before; the first keys, or with a number below 0 the last ones;
-- whether to read values. Answers with one row for each entry, in the order of the queries.
CREATE OR REPLACE FUNCTION @schema.read(
  p_namespace text, p_timeout_ms integer, p_kinds text[], p_paths text[], p_before bigint[], p_limits bigint[], p_values boolean[])
RETURNS TABLE (place text, key text, value text, revision text, created text, lease text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_id bigint := @schema.look_at(p_namespace, p_timeout_ms);
  v_from text;
  v_to text;
  v_bytes bigint := 0;
BEGIN
  FOR i IN 1 .. cardinality(p_kinds) LOOP
    IF p_kinds[i] = 'k' THEN
      SELECT v_bytes + coalesce(sum(length(k.value)), 0) INTO v_bytes
        FROM @schema.keys k WHERE k.namespace = v_id AND k.key = p_paths[i] COLLATE "C";
      PERFORM @schema.check_size(v_bytes);
      RETURN QUERY SELECT i::text, k.key::text, encode(k.value, 'base64'), k.revision::text, k.created::text, k.lease
        FROM @schema.keys k WHERE k.namespace = v_id AND k.key = p_paths[i] COLLATE "C";
      CONTINUE;
    END IF;
    -- "0" is the character after "/", so it ends the range of the keys below a prefix.
    v_from := p_paths[i] || '/';
    v_to := p_paths[i] || '0';
    SELECT v_bytes + coalesce(sum(${ENTRY_BYTES} + length(found.key) + CASE WHEN p_values[i] THEN length(found.value) ELSE 0 END), 0)
      INTO v_bytes
      FROM (SELECT k.key, k.value FROM @schema.keys k
        WHERE k.namespace = v_id AND k.key > v_from COLLATE "C" AND k.key < v_to COLLATE "C"
          AND (k.created < p_before[i]) IS NOT FALSE
        ORDER BY CASE WHEN p_limits[i] < 0 THEN -k.created ELSE k.created END LIMIT abs(p_limits[i])) found;
    PERFORM @schema.check_size(v_bytes);
    RETURN QUERY SELECT i::text, found.key::text, CASE WHEN p_values[i] THEN encode(found.value, 'base64') ELSE '' END,
        found.revision::text, found.created::text, found.lease
      FROM (SELECT * FROM @schema.keys k
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
CREATE OR REPLACE FUNCTION @schema.guard(p_namespace text, p_election text, p_revision bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_id bigint;
  v_ttl_ms bigint;
  v_revision bigint;
  v_lock_timeout text := current_setting('lock_timeout');
  v_idle interval := current_setting('idle_in_transaction_session_timeout')::interval;
BEGIN
  SELECT n.id, l.ttl_ms INTO v_id, v_ttl_ms FROM @schema.namespaces n
    JOIN @schema.keys k ON k.namespace = n.id AND k.key = p_election || '/leader' COLLATE "C"
    JOIN @schema.leases l ON l.namespace = n.id AND l.id = k.lease
    WHERE n.name = p_namespace;
  IF FOUND THEN
    PERFORM set_config('lock_timeout', v_ttl_ms::text, true);
    SELECT k.revision INTO v_revision FROM @schema.keys k
      WHERE k.namespace = v_id AND k.key = p_election || '/term' COLLATE "C" FOR SHARE;
    PERFORM set_config('lock_timeout', v_lock_timeout, true);
  END IF;
  IF v_revision IS DISTINCT FROM p_revision OR NOT EXISTS (SELECT FROM @schema.keys k
      JOIN @schema.leases l ON l.namespace = k.namespace AND l.id = k.lease
      WHERE k.namespace = v_id AND k.key = p_election || '/leader' COLLATE "C" AND l.ends_at > clock_timestamp()) THEN
    RAISE EXCEPTION 'STALE_TERM: this leadership of % has ended', p_election
      USING ERRCODE = '${RAISED.staleTerm}', HINT = 'Roll back, and stop working as the leader.';
  END IF;
  IF v_idle = interval '0' OR v_idle > v_ttl_ms * interval '1 millisecond' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', v_ttl_ms::text, true);
  END IF;
END $$;
`;
