"""A Dask cluster by SSH: two hosts, which are network namespaces, each with an sshd of its own."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bentpipe import Campaign
from conftest import SMALL, contents

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

#: Runs on the first host: the client, with the scheduler there and a worker on each.
SCRIPT = """
import sys
from distributed import Client, SSHCluster
from bentpipe import Campaign, Scenario

if __name__ == "__main__":
    key, folder, scenario = sys.argv[1:]
    options = {"known_hosts": None, "client_keys": [key], "username": "root"}
    cluster = SSHCluster(
        ["10.77.0.1", "10.77.0.1", "10.77.0.2"],
        connect_options=options,
        scheduler_options={"dashboard": False},
        worker_options={"nthreads": 1},
        remote_python=[sys.executable] * 3,
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=180)
        hosts = {worker["host"] for worker in client.scheduler_info()["workers"].values()}
        assert hosts == {"10.77.0.1", "10.77.0.2"}, hosts
        Campaign(Scenario(open(scenario).read(), name="small.toml"), runs=4, folder=folder).run(client, figures=False)
"""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _await_sshd(namespace: str, address: str) -> None:
    """Until it takes connections, or for two minutes."""
    look = f"import socket; socket.create_connection(('{address}', 22), 1)"
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", look]
    deadline = time.monotonic() + 120
    while subprocess.run(command, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < deadline, f"no sshd on {address}"
        time.sleep(0.1)


@pytest.fixture
def hosts(tmp_path):
    """Two namespaces with a cable between them; the private key that both take."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    if os.geteuid() != 0 or sshd is None or shutil.which("ip") is None:
        pytest.skip("needs root, ip and sshd")
    key = tmp_path / "key"
    for path in (key, tmp_path / "host-key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    (tmp_path / "authorized").write_text((tmp_path / "key.pub").read_text())
    Path("/run/sshd").mkdir(exist_ok=True)
    names = [f"bentpipe-py-{os.getpid()}-{number}" for number in (1, 2)]
    servers = []
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", "up0", "netns", names[0], "type", "veth", "peer", "name", "up0", "netns", names[1])
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "up0")
            ip("-n", name, "link", "set", "up0", "up")
            # Dask takes the address that leads to the rest of the world for its own.
            ip("-n", name, "route", "add", "default", "via", f"10.77.0.{3 - number}")
            options = {
                "AuthorizedKeysFile": tmp_path / "authorized",
                "HostKey": tmp_path / "host-key",
                "PidFile": "none",
                "PermitRootLogin": "yes",
                "StrictModes": "no",
                "UsePAM": "no",
            }
            flags = [part for key_, value in options.items() for part in ("-o", f"{key_}={value}")]
            command = ["ip", "netns", "exec", name, sshd, "-D", "-e", "-f", "/dev/null", *flags]
            servers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for number in (1, 2):
            _await_sshd(names[0], f"10.77.0.{number}")
        yield names, key
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_results_over_ssh_are_those_of_a_thread(hosts, small, tmp_path):
    names, key = hosts
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "campaign.py").write_text(SCRIPT)
    arguments = [key, tmp_path / "ssh", tmp_path / "small.toml"]
    command = ["ip", "netns", "exec", names[0], sys.executable, tmp_path / "campaign.py", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr[-2000:]
    Campaign(small, runs=4, folder=tmp_path / "thread").run(threads=1, figures=False)
    ours, theirs = contents(tmp_path / "ssh"), contents(tmp_path / "thread")
    assert ours == theirs and len(ours) > 8
