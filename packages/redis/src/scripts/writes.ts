/** Swaps and queue entries. */

import { script, type Script } from './script.ts';

/**
 * ARGV: five for each change. The key; its revision, empty where it must be absent; `p`ut, `d`elete or `c`heck; `k`eep the lease, `n`one, or `l` and
 * its id; the value. Answers `lease` and one that is gone; or `failed`, and for each that did not hold (for some, if that is too much) its place, from 1, and what is there; or `done` and the
 * new revisions.
 */
export const swap: Script = script({
  body: `
local changes = {}
for at = 2, #ARGV, 5 do
  local change = { key = ARGV[at], expect = ARGV[at + 1], action = ARGV[at + 2], lease = ARGV[at + 3], value = ARGV[at + 4] }
  if string.sub(change.lease, 1, 1) == 'l' then
    change.id = string.sub(change.lease, 2)
    if left(change.id) == GONE then
      purge(change.id)
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
    failed[#failed + 1] = shown(change.current)
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
    if current.l ~= '' then redis.call('SREM', boundAt(current.l), change.key) end
  end
  revisions[#revisions + 1] = revision
end
return done(revisions)
`,
});

/** ARGV: key, value, lease. Answers `lease` where that is gone; `taken` where another's entry is there; or `done` and the entry. */
export const enqueue: Script = script({
  body: `
local key, value, lease = ARGV[2], ARGV[3], ARGV[4]
if left(lease) == GONE then
  purge(lease)
  return done({ 'lease' })
end
local current = load(key)
if not current then
  write(key, nil, value, lease)
  current = load(key)
elseif current.l ~= lease then
  return done({ 'taken' })
end
return done({ 'done', shown(current) })
`,
});
