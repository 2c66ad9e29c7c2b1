#!/bin/bash
# A client of `incumbent serve` in shell, with curl.
#
# usage: serve-client.sh http://127.0.0.1:4040 ELECTION ID
#
# A subshell asks, and the shell works. Prints "work TERM TIME" about every 10 ms while it leads.
# TIME is the reading of the clock, in ns, that the client has compared with its deadline. The clock
# is the time since the machine started, rounded down to 10 ms.

path=$1/elections/$2/candidacies/$3
secret=

now() { read -r up _ < /proc/uptime; ms=$((10#${up/./} * 10)); }
# The field $1 of the last answer.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<< "$answer"; }
call() { curl -s -m 1 -X "$1" -H 'content-type: application/json' -H "candidacy-secret: $secret" "${@:3}" "$2"; }
get() { call GET "$1"; }

# Prints a line for each answer: the state, the deadline, the secret and the term.
ask() {
  while sleep 0.2; do
    if [ -z "$secret" ]; then
      answer=$(curl -s -m 1 -X PUT -H 'content-type: application/json' -d '{"renewWithinMs":2000}' "$path")
      secret=$(field secret)
    fi
    now; asked=$ms; answer=$(get "$path")
    [ -n "$answer" ] || continue
    until=$((asked + $(field validForMs) - 10))
    # Without a state, the answer is an error: the candidacy is over, or a former one is not yet.
    state=$(field state)
    [ -n "$state" ] || secret=
    echo "${state:-over} $until ${secret:--} $(field term)"
  done
}

exec 3< <(ask)
until=0 term= line=
while true; do
  # Waits for an answer for 10 ms. The part of a line that has come by then is kept.
  if read -r -t 0.01 -u 3 part; then
    read -r state until secret term <<< "$line$part"
    line=
    [ "$state" = stopping ] && call POST "$path/acknowledge" -d "{\"term\":\"$term\"}" > /dev/null
  else
    line+=$part
  fi
  now
  [ "$ms" -lt "$until" ] && echo "work $term ${ms}000000"
done
