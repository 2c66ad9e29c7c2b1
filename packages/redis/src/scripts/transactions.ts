/** Swaps and queue entries. */

import { LAST } from './reads.ts';
import { script, type Script } from './script.ts';

/**
 * ARGV: five for each change. The key; its revision, or empty if it must be absent; `p` (put), `d`
 * (delete) or `c` (check); `k` (keep the lease), `n` (no lease), or `l` and a lease id; the value.
 *
 * Answers with `lease` and the id of a lease that has ended; or with `failed` and, for each change
 * whose condition failed, its number from 1 and the current entry (the answer ends early when it
 * gets too long); or with `done` and the new revisions.
 */
const SWAP = `
local changes = {}
for at = 2, #ARGV, 5 do
  local change = { key = ARGV[at], expect = ARGV[at + 1], action = ARGV[at + 2], lease = ARGV[at + 3], value = ARGV[at + 4] }
  if string.sub(change.lease, 1, 1) == 'l' then
    change.id = string.sub(change.lease, 2)
    if remaining(change.id) == ENDED then
      endLease(change.id)
      return done({ 'lease', change.id })
    end
  end
  changes[#changes + 1] = change
end

local failed = { 'failed' }
for index, change in ipairs(changes) do
  change.current = load(change.key)
  local revision = change.current and change.current.r or ''
  if revision ~= change.expect then
    failed[#failed + 1] = index
    failed[#failed + 1] = fieldsOf(change.current)
    if change.current and not fits(change.current) then break end
  end
end
if #failed > 1 then return done(failed) end

local revisions = { 'done' }
for _, change in ipairs(changes) do
  local current, revision = change.current, ''
  if change.action == 'p' then
    local kept = current and current.l or ''
    local lease = change.id or (change.lease == 'k' and kept or '')
    revision = write(change.key, current, change.value, lease)
  elseif change.action == 'd' then
    remove(change.key)
    if current.l ~= '' then redis.call('SREM', boundName(current.l), change.key) end
  end
  revisions[#revisions + 1] = revision
end
return done(revisions)
`;

export const swapScript: Script = script({ body: SWAP });

/** For swaps that free memory: a server whose memory is full runs it, too. */
export const freeingSwapScript: Script = script({ flags: ['allow-oom'], body: SWAP });

/**
 * ARGV: key, value, lease; and, to read in the same step, the prefix of the queue, how many entries
 * ahead to list without values, and a key. Answers with `lease` if the lease has ended; with
 * `taken` if the key has another lease; or with `done` and the entry, followed by those entries and
 * by that key's entry if the script has added the entry and the answer is not too long.
 */
export const enqueueScript: Script = script({
  body: `${LAST}
local key, value, lease, prefix, ahead, also = unpack(ARGV, 2)
if remaining(lease) == ENDED then
  endLease(lease)
  return done({ 'lease' })
end
local current = load(key)
if not current then
  write(key, nil, value, lease)
  current = load(key)
  if prefix then
    local rows, found = lastOf(ns .. ':index:' .. prefix, '(' .. current.o, tonumber(ahead), true), {}
    add(found, load(also))
    if not full then return done({ 'done', fieldsOf(current), rows, found[1] or {} }) end
  end
elseif current.l ~= lease then
  return done({ 'taken' })
end
return done({ 'done', fieldsOf(current) })
`,
});
