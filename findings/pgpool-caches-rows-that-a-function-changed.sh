#!/usr/bin/env bash
# pgpool-II 4.3.5 with memory_cache_enabled keeps the rows of a table that a function changed.
#
# A client reads a table through the pooler. Another client calls a function that inserts a row,
# also through the pooler. The first client reads again, and gets the old rows, for as long as the
# cache lives. After an INSERT as a statement of its own, the cache is renewed. A volatile function
# in the SELECT avoids the cache.
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
packages postgresql-15=15. pgpool2=4.3.5

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
run mkdir "$dir/pgpool"
run tee "$dir/pgpool.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
port = $pooler_port
unix_socket_directories = '$dir/pgpool'
pcp_listen_addresses = ''
pcp_socket_dir = '$dir/pgpool'
pid_file_name = '$dir/pgpool/pid'
logdir = '$dir/pgpool'
work_dir = '$dir/pgpool'
backend_clustering_mode = 'streaming_replication'
backend_hostname0 = '127.0.0.1'
backend_port0 = $port
sr_check_user = 'ada'
sr_check_database = 'postgres'
memory_cache_enabled = on
memqcache_oiddir = '$dir/pgpool'
CONF
setpriv --reuid=postgres --regid=postgres --init-groups \
    /usr/sbin/pgpool -n -f "$dir/pgpool.conf" >"$dir/pgpool.log" 2>&1 &
pooler=$!
for _ in $(seq 100); do
    psql -X -q "$pooled" -c "SELECT 1" >/dev/null 2>&1 && break
    sleep 0.1
done

ask() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$1" -c "$2"; }
ask "$direct" "
    CREATE TABLE notes (text text);
    CREATE FUNCTION add_note(new text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO notes VALUES (new)'"
count="SELECT count(*) FROM notes"
first=$(ask "$pooled" "$count")
ask "$pooled" "SELECT add_note('one')" >/dev/null
cached=$(ask "$pooled" "$count")
volatile=$(ask "$pooled" "SELECT count(*), clock_timestamp() IS NULL FROM notes")
server=$(ask "$direct" "$count")
ask "$pooled" "INSERT INTO notes VALUES ('two')"
after=$(ask "$pooled" "$count")
echo "rows before: $first"
echo "rows after a function inserted one: $cached through the pooler, $server on the server"
echo "rows with a volatile function in the SELECT: ${volatile%|*}"
echo "rows after an INSERT: $after"
[ "$first $cached $server ${volatile%|*} $after" = "0 0 1 1 2" ] || {
    echo "the behaviour has changed" >&2
    exit 1
}
