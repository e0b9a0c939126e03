#!/bin/bash
# What the trials in the virtual machine share: how they say what holds, and how long connections are silent.

trial=/trial
unit=bentpipe-gateway
ask=/usr/sbin/bentpipe-gateway

holds() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/tmp/said 2>&1; then
        echo "holds: $what ($SECONDS s)"
    else
        echo "DOES NOT HOLD: $what ($SECONDS s)"
        sed 's/^/    /' /tmp/said | head -n 20
        journalctl -u $unit -t bentpipe-gateway --no-pager -n 4 -o cat | sed 's/^/    journal: /'
        failed=$((failed + 1))
    fi
}
failed=0
within() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        if [ $SECONDS -ge $end ]; then return 1; fi
        sleep 0.3
    done
}
not() { ! "$@"; }
is() { # FILTER: whether the gateway's status has it
    $ask status --json | jq -e "$1"
}
main_pid() { systemctl show -P MainPID $unit; }
field() { sed -n "s/^$2:[ \t]*//p" "/proc/$1/status"; }

# No program is started for it: an emulated machine has better to do.
every_100_ms() { # COMMAND..., until it fails
    local never
    exec {never}<> <(:)
    while "$@"; do read -rt 0.1 -u "$never" || true; done
}
# Something comes every 100 ms: how long is the longest silence?
wait_for_ticks() { # NAME
    local longest=0 last=${EPOCHREALTIME/./} now
    while read -r _; do
        now=${EPOCHREALTIME/./}
        if ((now - last > longest)); then longest=$((now - last)); fi
        last=$now
        echo "$longest" >"/tmp/silence-$1"
    done
    echo ended >"/tmp/ended-$1"
}
silence() { # NAME: in ms, of one that still lasts
    test ! -e "/tmp/ended-$1" && echo "measured: the longest silence of $1: $(($(cat "/tmp/silence-$1") / 1000)) ms"
}
# The runs of pings that were never answered, a line each. The last ones are still on their way.
lost_pings() { # OUTPUT-OF-PING, which has the time of each (-D)
    awk -F'[][ =]+' '/icmp_seq=/ { for (i = 1; i < NF; i++) if ($i == "icmp_seq") seq = $(i + 1)
        at[seq] = $2 - start; if (seq > last) last = seq }
        END { for (seq = 1; seq <= last; seq++) if (!(seq in at)) {
            for (run = 1; !(seq + run in at); run++);
            print "lost: " run ", before " at[seq + run] " s"; seq += run } }' start=$(($(date +%s) - SECONDS)) "$1"
}
# Files of random bytes, and something that says a line every 100 ms, for as long as somebody listens.
serve() { # NAMESPACE
    mkdir -p /srv/www/cgi-bin
    head -c 3000000 /dev/urandom >/srv/www/small
    head -c 12000000 /dev/urandom >/srv/www/large
    cat >/srv/www/cgi-bin/ticks <<'CGI'
#!/bin/bash
. /trial/toolbox.sh
printf 'Content-Type: text/plain\r\n\r\n'
every_100_ms echo x
CGI
    chmod +x /srv/www/cgi-bin/ticks
    ip netns exec "$1" busybox httpd -f -p 80 -h /srv/www &
}
