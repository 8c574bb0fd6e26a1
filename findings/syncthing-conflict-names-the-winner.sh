#!/usr/bin/env bash
# Syncthing: the seven letters in the name of a conflict copy are those of the device that won.
#
# note.sync-conflict-DATE-TIME-LETTERS.md has the text of the device that lost. The letters are
# called "modifiedBy" and are taken for the device that wrote this text; they are the device whose
# text is in note.md now. With two devices, "the copy from the laptop" is the one of the other.
. "$(dirname "$0")/common.bash"
package syncthing 1.19.2

port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
declare -A id port
export STNORESTART=1 STNOUPGRADE=1
for side in a b; do
    mkdir -p "$dir/$side/.stfolder"
    syncthing generate --no-default-folder --home "$dir/home-$side" >/dev/null 2>&1
    id[$side]=$(syncthing --device-id --home "$dir/home-$side")
    port[$side]=$(port)
done
start() {
    local side
    for side in a b; do
        cat >"$dir/home-$side/config.xml" <<XML
<configuration version="36">
  <folder id="notes" path="$dir/$side" type="sendreceive" rescanIntervalS="2" fsWatcherEnabled="false">
    <maxConflicts>10</maxConflicts>
    <device id="${id[a]}"></device><device id="${id[b]}"></device>
  </folder>
  <device id="${id[a]}" name="a"><address>tcp://127.0.0.1:${port[a]}</address></device>
  <device id="${id[b]}" name="b"><address>tcp://127.0.0.1:${port[b]}</address></device>
  <gui enabled="true"><address>127.0.0.1:$(port)</address><apikey>key</apikey></gui>
  <options>
    <listenAddress>tcp://127.0.0.1:${port[$side]}</listenAddress>
    <globalAnnounceEnabled>false</globalAnnounceEnabled>
    <localAnnounceEnabled>false</localAnnounceEnabled>
    <relaysEnabled>false</relaysEnabled>
    <natEnabled>false</natEnabled>
    <urAccepted>-1</urAccepted>
    <reconnectionIntervalS>1</reconnectionIntervalS>
    <crashReportingEnabled>false</crashReportingEnabled>
  </options>
</configuration>
XML
        syncthing serve --no-browser --home "$dir/home-$side" >"$dir/log-$side" 2>&1 &
        pids+=($!)
    done
}
stop() {
    kill "${pids[@]}"
    wait "${pids[@]}" || true
    pids=()
}
# wait_for FILE: waits up to 60 seconds until a file is there.
wait_for() {
    for _ in $(seq 120); do
        if compgen -G "$1" >/dev/null; then return; fi
        sleep 0.5
    done
    echo "never there: $1" >&2
    exit 1
}

echo "first text" >"$dir/a/note.md"
start
wait_for "$dir/b/note.md"
stop
# Both change the note while they do not see each other. The later change wins.
echo "text of a" >"$dir/a/note.md"
sleep 1.1
echo "text of b" >"$dir/b/note.md"
start
wait_for "$dir/a/note.sync-conflict-*.md"
wait_for "$dir/b/note.sync-conflict-*.md"
copy=$(cd "$dir/a" && ls note.sync-conflict-*.md)
expect "text in note.md" "text of b" "$(cat "$dir/a/note.md")"
expect "text in the copy" "text of a" "$(cat "$dir/a/$copy")"
letters=${copy%.md}
letters=${letters##*-}
for side in a b; do
    if [[ ${id[$side]} == "$letters"* ]]; then device=$side; fi
done
expect "device whose letters are in the name of the copy" b "${device:-neither}"
