/** Reads. */

import { script, type Script } from './script.ts';

/** Reads the last entries of a list, into an answer that does not get too long. */
export const LAST = `
local full = false
local function add(rows, entry)
  if not entry then return end
  full = full or not fits(entry)
  if not full then rows[#rows + 1] = fieldsOf(entry) end
end

local function entryIn(index, key, bare)
  local entry = load(key, bare)
  if not entry then redis.call('ZREM', index, key) end
  return entry
end

local function lastOf(index, below, limit, bare)
  local found = {}
  while #found < limit and not full do
    local rows = redis.call('ZREVRANGEBYSCORE', index, below, '-inf', 'WITHSCORES', 'LIMIT', 0, 64)
    if #rows == 0 then break end
    for at = 1, #rows, 2 do
      add(found, entryIn(index, rows[at], bare))
      if full or #found == limit then break end
    end
    below = '(' .. rows[#rows]
  end
  local rows = {}
  for at = #found, 1, -1 do rows[#rows + 1] = found[at] end
  return rows
end
`;

/**
 * ARGV: five for each query. `k` (one key) or `l` (a list); the key or the prefix; the order that
 * entries must be below; the most entries: the first ones, or, below zero, the last ones; `1` for
 * values. The order and the number are empty if there is no bound. Answers with a list of entries
 * for each query; or with `large` if the answer would be too long.
 */
export const readScript: Script = script({
  flags: ['allow-oom'],
  body: `${LAST}
local function all(index, below, bare)
  local rows = {}
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', below)) do
    add(rows, entryIn(index, key, bare))
    if full then break end
  end
  return rows
end

local function first(index, below, limit, bare)
  local rows, above = {}, '-inf'
  while #rows < limit and not full do
    local page = redis.call('ZRANGEBYSCORE', index, above, below, 'WITHSCORES', 'LIMIT', 0, 64)
    if #page == 0 then break end
    for at = 1, #page, 2 do
      add(rows, entryIn(index, page[at], bare))
      if full or #rows == limit then break end
    end
    above = '(' .. page[#page]
  end
  return rows
end

local answers = {}
for at = 2, #ARGV, 5 do
  local kind, path, before, count, bare = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4] ~= '1'
  local index = ns .. ':index:' .. path
  local below = before == '' and '+inf' or '(' .. before
  if kind == 'k' then
    local rows = {}
    add(rows, load(path))
    answers[#answers + 1] = rows
  elseif count == '' then
    answers[#answers + 1] = all(index, below, bare)
  elseif tonumber(count) > 0 then
    answers[#answers + 1] = first(index, below, tonumber(count), bare)
  else
    answers[#answers + 1] = lastOf(index, below, -tonumber(count), bare)
  end
  if full then return done('large') end
end
return done(answers)
`,
});
