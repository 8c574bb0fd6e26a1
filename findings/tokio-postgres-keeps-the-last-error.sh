#!/usr/bin/env bash
# tokio-postgres 0.7.18 goes on to the next host after a refused password, and reports the last
# error.
#
# PostgreSQL's client library ends at a refused password. With tokio-postgres and a second host that
# does not answer, a wrong password becomes "Connection refused".
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
packages postgresql-15=15.
cargo --version

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
echo "host all all 127.0.0.1/32 scram-sha-256" | run tee "$dir/data/pg_hba.conf" >/dev/null
psql -X -q "$direct" -c "ALTER ROLE ada PASSWORD 'right'" -c "SELECT pg_reload_conf()" >/dev/null
sleep 1
mkdir -p "$dir/project/src"
cat >"$dir/project/Cargo.toml" <<'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
tokio = { version = "=1.54.1", features = ["rt"] }
tokio-postgres = "=0.7.18"

[workspace]
TOML
cat >"$dir/project/src/main.rs" <<'RUST'
use std::error::Error;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for url in std::env::args().skip(1) {
        let error = runtime
            .block_on(tokio_postgres::connect(&url, tokio_postgres::NoTls))
            .err()
            .expect("the password is wrong");
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        println!("{cause}");
    }
}
RUST
CARGO_TARGET_DIR="$dir/target" cargo build -q --manifest-path "$dir/project/Cargo.toml"
url() { echo "postgresql://ada:wrong@$1/postgres"; }
server="127.0.0.1:$port"
nobody="127.0.0.1:1"
mapfile -t errors < <("$dir/target/debug/finding" "$(url "$server")" "$(url "$server,$nobody")")
echo "tokio-postgres, the server alone: ${errors[0]}"
echo "tokio-postgres, the server and a host that does not answer: ${errors[1]}"
psql -X "$(url "$server,$nobody")" -c "SELECT 1" 2>"$dir/psql" || true
echo "psql, both: $(head -1 "$dir/psql")"
if [[ ${errors[0]} != *"password authentication failed"* ||
    ${errors[1]} != *"Connection refused"* ]] ||
    ! grep -q "password authentication failed" "$dir/psql"; then
    echo "the behaviour has changed" >&2
    exit 1
fi
