#!/bin/bash
# A client of `incumbent serve` in shell, with curl.
#
# usage: serve-client.sh http://127.0.0.1:4040 ELECTION ID
#
# Prints "work TERM TIME" every 10 ms while it leads: TIME is the machine's clock, in ns.

path=$1/elections/$2/candidacies/$3
secret= until=0 term=

# The time since the machine started, in ms, rounded down to 10 ms.
now() { read -r up _ < /proc/uptime; ms=$((10#${up/./} * 10)); }
# The field $2 of the JSON $1.
field() { sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<< "$1"; }
call() { curl -s -m 1 -X "$1" -H 'content-type: application/json' -H "candidacy-secret: $secret" "${@:3}" "$2"; }

while true; do
  now; asked=$ms
  if [ -z "$secret" ]; then
    secret=$(field "$(curl -s -m 1 -X PUT -H 'content-type: application/json' -d '{"renewWithinMs":2000}' "$path")" secret)
  fi
  if answer=$(call GET "$path"); then
    case $(field "$answer" state) in
      leading | suspect) term=$(field "$answer" term) until=$((asked + $(field "$answer" validForMs) - 10)) ;;
      stopping) until=0; call POST "$path/acknowledge" -d "{\"term\":\"$(field "$answer" term)\"}" > /dev/null ;;
      waiting) until=0 ;;
      *) secret= ;;
    esac
  fi
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    stamp=${EPOCHREALTIME/./}000
    now
    [ "$ms" -lt "$until" ] && echo "work $term $stamp"
    sleep 0.01
  done
done
