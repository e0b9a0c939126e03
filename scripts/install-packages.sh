#!/usr/bin/env bash
# Installs the distribution packages that the demo uses, with `bench` those of live benchmarks
# too, with `tests` those of the live tests, with `wheels` those that try programs of another architecture instead, with `routers` those of the routers' set-ups and
# of the virtual machine for some of them (qemu: 150 MB to fetch): only what is missing. Without root, or without apt, it
# says what is missing and leaves the machine as it is.
# Usage: install-packages.sh [bench|tests|wheels|routers|machine]
set -euo pipefail

# program:package, one for each program that the testbed runs.
wanted=(
    cc:gcc
    ip:iproute2
)
if [ "${1:-}" = bench ] || [ "${1:-}" = tests ] || [ "${1:-}" = routers ]; then
    wanted+=(
        nft:nftables
        ping:iputils-ping
        nginx:nginx-light
        curl:curl
        iperf3:iperf3
        tcpdump:tcpdump
        setpriv:util-linux
        sysctl:procps
    )
fi
if [ "${1:-}" = tests ]; then
    # The programs that live tests run through the gateways. The headless shell is Chromium
    # without its desktop: 100 MB to fetch with its libraries. tshark's marks are compared with ours.
    wanted+=(
        openssl:openssl
        ssh:openssh-client
        sshd:openssh-server
        vsftpd:vsftpd
        rsync:rsync
        chromium-headless-shell:chromium-headless-shell
        tshark:tshark
        iptables-nft:iptables
    )
fi
if [ "${1:-}" = routers ]; then
    wanted+=(
        qemu-system-x86_64:qemu-system-x86
        busybox:busybox-static
        modprobe:kmod
        wg:wireguard-tools
        pppd:ppp
        pppoe-server:pppoe
        debootstrap:debootstrap
    )
fi
if [ "${1:-}" = machine ]; then
    wanted=(
        qemu-system-x86_64:qemu-system-x86
        busybox:busybox-static
        modprobe:kmod
        mmdebstrap:mmdebstrap
        mke2fs:e2fsprogs
        dpkg-deb:dpkg
        lintian:lintian
        xz:xz-utils
        rpm:rpm
        buildah:buildah
    )
fi
if [ "${1:-}" = wheels ]; then
    wanted=(qemu-aarch64:qemu-user)
fi

PATH="$PATH:/usr/sbin:/sbin"
missing=() available=()
for entry in "${wanted[@]}"; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry##*:}")
done
if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi

if ! command -v apt-get >/dev/null; then
    echo "install-packages: missing: ${missing[*]} (no apt-get here: install them with your package manager)" >&2
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install-packages: missing: ${missing[*]}" >&2
    echo "install-packages: not root, so nothing is installed; run: sudo apt-get install ${missing[*]}" >&2
    exit 0
fi

# The servers are only ever run by us, inside a namespace. A package that starts its service at
# installation would take a port of this machine: policy-rc.d forbids that while we install.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi

echo "install-packages: installing ${missing[*]}, which takes a minute or two"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# Not every distribution has them all: the tests that lack one are skipped, and say so.
for package in "${missing[@]}"; do
    if ! apt-get -qq install --simulate --no-install-recommends "$package" >/dev/null 2>&1; then
        echo "install-packages: this distribution has no package $package: what takes it is skipped" >&2
        continue
    fi
    available+=("$package")
done
if [ "${#available[@]}" -gt 0 ]; then
    apt-get -qq install -y --no-install-recommends "${available[@]}" >/dev/null
fi
