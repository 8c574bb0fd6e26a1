#!/usr/bin/env bash
# khal: the same `--until DAY` has an event on that day if it lasts all day, and none if it has a
# time.
#
# khal writes the beginning of the day as the end of the series. An event with a time of that day is
# after it. So a weekly meeting ends a week before a weekly day, and a program that reads the
# calendar sees no sign of the day that was typed.
. "$(dirname "$0")/common.bash"
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo "needs python3 with venv" >&2
    exit 2
fi
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check khal==0.14.1
mkdir "$dir/timed" "$dir/days"
cat >"$dir/config" <<CONF
[calendars]
[[timed]]
path = $dir/timed
[[days]]
path = $dir/days
[locale]
local_timezone = Europe/Berlin
default_timezone = Europe/Berlin
timeformat = %H:%M
dateformat = %Y-%m-%d
longdateformat = %Y-%m-%d
datetimeformat = %Y-%m-%d %H:%M
longdatetimeformat = %Y-%m-%d %H:%M
[sqlite]
path = $dir/khal.db
CONF
khal() {
    "$dir/venv/bin/khal" --config "$dir/config" "$@"
}

# days CALENDAR: prints the days in January on which it has an event.
days() {
    khal list --include-calendar "$1" --day-format '{date}' --format '' 2026-01-01 30d | xargs
}
khal new --calendar timed --repeat weekly --until 2026-01-21 2026-01-07 19:00 20:30 Choir
khal new --calendar days --repeat weekly --until 2026-01-21 2026-01-07 Market
end() {
    grep -rho 'UNTIL=[0-9TZ]*' "$dir/$1"
}
expect "end of the series with a time" "UNTIL=20260120T230000Z" "$(end timed)"
expect "end of the series of days" "UNTIL=20260121T000000" "$(end days)"
expect "with a time" "2026-01-07 2026-01-14" "$(days timed)"
expect "all day" "2026-01-07 2026-01-14 2026-01-21" "$(days days)"
