#!/usr/bin/env bash
# pgbouncer 1.18.0 in transaction mode: LISTEN succeeds, works in a test on one connection, and then
# delivers to another client.
#
# A notification goes to the client that has the server's session at that time. In a test with one
# client this is the listener itself. With a second client, which sends NOTIFY, it is the sender;
# the listener gets nothing, and no error.
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo "run as root: the servers run as the user postgres" >&2; exit 2; }
# Installs the packages, and ends if a version is another one.
packages() {
    local package
    for package in "$@"; do
        dpkg-query -W "${package%%=*}" >/dev/null 2>&1 || {
            # Debian starts a cluster of its own otherwise.
            mkdir -p /etc/postgresql-common/createcluster.d
            echo "create_main_cluster = false" \
                >/etc/postgresql-common/createcluster.d/no-cluster.conf
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${package%%=*}" >/dev/null 2>&1
        }
        local found
        found=$(dpkg-query -W -f '${Version}' "${package%%=*}")
        echo "${package%%=*} $found"
        [[ $found == "${package#*=}"* ]] || { echo "expected ${package#*=}" >&2; exit 1; }
    done
}
packages postgresql-15=15. pgbouncer=1.18.0

# A server on loopback that trusts its clients, in a temporary directory.
bin=/usr/lib/postgresql/15/bin
dir=$(mktemp -d /tmp/finding.XXXXXX)
chown postgres: "$dir"
port=$((20000 + RANDOM % 4000))
pooler_port=$((port + 4000))
run() { setpriv --reuid=postgres --regid=postgres --init-groups env -C / HOME="$dir" "$@"; }
stop() {
    [ -z "${pooler:-}" ] || kill -INT "$pooler" 2>/dev/null || true
    run "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap stop EXIT
run "$bin/initdb" -D "$dir/data" -U ada -A trust -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1
run tee -a "$dir/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
CONF
run "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w start >/dev/null
direct="postgresql://ada@127.0.0.1:$port/postgres"
pooled="postgresql://ada@127.0.0.1:$pooler_port/postgres"
echo '"ada" ""' | run tee "$dir/users.txt" >/dev/null
run tee "$dir/pgbouncer.ini" >/dev/null <<INI
[databases]
postgres = host=127.0.0.1 port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler_port
unix_socket_dir =
pool_mode = transaction
auth_type = trust
auth_file = $dir/users.txt
INI
setpriv --reuid=postgres --regid=postgres --init-groups \
    /usr/sbin/pgbouncer -q "$dir/pgbouncer.ini" >"$dir/pgbouncer.log" 2>&1 &
pooler=$!
for _ in $(seq 100); do
    psql -X -q "$pooled" -c "SELECT 1" >/dev/null 2>&1 && break
    sleep 0.1
done

notified() { if grep -q "Asynchronous notification" <<<"$1"; then echo yes; else echo no; fi; }
one=$(psql -X -q "$pooled" -c "LISTEN a" -c "NOTIFY a" -c "SELECT 1")
{
    echo "LISTEN b;"
    sleep 2
    echo "SELECT 'still here';"
} | psql -X -q -v ON_ERROR_STOP=1 "$pooled" >"$dir/listener" 2>&1 &
listener=$!
sleep 1
sender=$(psql -X -q "$pooled" -c "NOTIFY b" -c "SELECT 1")
wait "$listener"
one=$(notified "$one") sender=$(notified "$sender") listener=$(notified "$(cat "$dir/listener")")
echo "one client listens and notifies: it gets the notification: $one"
echo "two clients: the sender gets it: $sender; the listener gets it: $listener"
grep -q "still here" "$dir/listener"
[ "$one $sender $listener" = "yes yes no" ] || {
    echo "the behaviour has changed" >&2
    exit 1
}
