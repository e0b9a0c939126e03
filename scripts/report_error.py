#!/usr/bin/env python3
"""Measures the error of `report`'s model: the same downloads observed, split, and with a sample left unsplit.

Downloads of 100 KB, 1 MB and 10 MB cross a satellite link of 8 Mbit/s and 500 ms (`bentpipe link`), one after the other, in
namespaces: server, gateway, link, client. Each lane is a link of its own with a gateway at the servers' side. First the
gateways only observe, and the clients' times are what is true. Then they split all, and `report` says what its model
thinks. Then they split half, and `report` also has the sample's times. Takes root, and half an hour with losses of 1 %.

Example: scripts/report_error.py target/release --loss 1
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

SIZES = {"10kB-100kB": 99_000, "100kB-1MB": 990_000, "1MB-10MB": 9_900_000}
PLACES = ("server", "gateway", "link", "client")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def inside(namespace: str, *command: str) -> str:
    return run("ip", "netns", "exec", namespace, *command)


class Lane:
    """A server, a gateway, a link and a client."""

    def __init__(self, number: int, options: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
        programs = options.programs.resolve()
        self.gateway, self.folder = str(programs / "bentpipe-gateway"), folder
        self.name = f"report{number}"
        self.at = {place: f"bp{os.getpid()}-{place}{number}" for place in PLACES}
        for namespace in self.at.values():
            run("ip", "netns", "add", namespace)
            stack.callback(run, "ip", "netns", "del", namespace)
            inside(namespace, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.tcp_no_metrics_save=1")
            inside(namespace, "ip", "link", "set", "lo", "up")
        for cable, (left, right) in enumerate(zip(PLACES, PLACES[1:])):
            self._cable(left, right, cable)
        # A namespace may not have all that the kernel has as its default, but a route may.
        by = ["congctl", options.hosts]
        inside(self.at["server"], "ip", "route", "change", "10.9.2.0/24", "via", "10.9.0.2", *by)
        command = ["ip", "netns", "exec", self.at["link"], str(programs / "bentpipe"), "link"]
        command += ["--between", "to-gateway,to-client", "--rate", "8Mbit/s", "--delay", "250ms", "--queue", "1bdp"]
        command += ["--loss", f"{options.loss}%", "--seed", str(number + 1)]
        link = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stack.callback(link.wait)
        stack.callback(link.terminate)
        while "ready" not in link.stdout.readline():
            if link.poll() is not None:
                sys.exit("report_error: there is no link")
        command = ["ip", "netns", "exec", self.at["server"], "busybox", "httpd", "-f", "-p", "80", "-h", str(folder)]
        stack.callback(subprocess.Popen(command).kill)

    def _cable(self, left: str, right: str, number: int) -> None:
        ends = ((left, right, f"10.9.{number}.1"), (right, left, f"10.9.{number}.2"))
        (_, _, first), (_, _, second) = ends
        cable = ["type", "veth", "peer", "name", f"to-{left}", "netns", self.at[right]]
        inside(self.at[left], "ip", "link", "add", f"to-{right}", *cable)
        for here, there, address in ends:
            inside(self.at[here], "ip", "address", "add", f"{address}/24", "dev", f"to-{there}")
            # The link takes packets, not what GSO has put together.
            inside(self.at[here], "ethtool", "-K", f"to-{there}", "tso", "off", "gso", "off", "gro", "off")
            inside(self.at[here], "ip", "link", "set", f"to-{there}", "up")
        beyond = PLACES.index(right)
        for place in PLACES[:beyond]:
            if place != left:
                via = f"10.9.{PLACES.index(place)}.2"
                inside(self.at[place], "ip", "route", "add", f"10.9.{number}.0/24", "via", via)
        for other in range(beyond - 1):
            inside(self.at[right], "ip", "route", "add", f"10.9.{other}.0/24", "via", first)

    @contextmanager
    def running(self, settings: str) -> Iterator[None]:
        file = self.folder / f"{self.name}.toml"
        file.write_text(f'[interfaces]\nlan = ["to-server"]\nsatellite = ["to-link"]\n{settings}\n')
        command = ["ip", "netns", "exec", self.at["gateway"], self.gateway, "--name", self.name, "--config", str(file)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                try:
                    self.ask("status")
                    break
                except subprocess.CalledProcessError:
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait()

    def ask(self, question: str) -> dict:
        return json.loads(inside(self.at["gateway"], self.gateway, question, "--json", "--name", self.name))

    def download(self, size: int) -> float:
        """Seconds from the SYN to the last byte."""
        command = ["curl", "-sf", "-o", "/dev/null", "-w", "%{time_total}", f"http://10.9.0.1/{size}"]
        return float(inside(self.at["client"], *command))

    def downloads(self, rounds: int) -> dict[str, list[float]]:
        return {name: [self.download(size) for _ in range(rounds)] for name, size in SIZES.items()}

    def phase(self, settings: str, rounds: int) -> tuple[dict[str, list[float]], dict]:
        with self.running(settings):
            times = self.downloads(rounds)
            # The last acknowledgments are under way.
            time.sleep(2)
            return times, self.ask("report")["all"]["by_size"]


def mean(values: list[tuple[int, float]]) -> float:
    """The geometric mean of means, each with its count."""
    count = sum(number for number, _ in values)
    return math.exp(sum(number * math.log(value) for number, value in values) / count) if count else math.nan


def over(reports: list[dict], size: str, manner: str, column: str) -> float:
    groups = [report[size][manner] for report in reports]
    return mean([(group["count"], group[column]) for group in groups if group["count"]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path, help="the folder of bentpipe and bentpipe-gateway")
    parser.add_argument("--loss", type=float, default=0, help="of packets, in percent")
    parser.add_argument("--lanes", type=int, default=4, help="links at the same time")
    parser.add_argument("--rounds", type=int, default=3, help="downloads of each size and phase over one link")
    parser.add_argument("--hosts", default="cubic", help="their congestion control")
    parser.add_argument("--rate", action="store_true", help="configure the link's rate")
    options = parser.parse_args()
    lanes, rounds = options.lanes, options.rounds
    known = '[satellite]\nrate = "8Mbit/s"\n' if options.rate else ""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack, ThreadPoolExecutor(lanes) as pool:
        for size in SIZES.values():
            (Path(folder) / str(size)).write_bytes(os.urandom(size))
        links = [Lane(number, options, Path(folder), stack) for number in range(lanes)]

        def phase(policy: str) -> tuple[list[dict[str, list[float]]], list[dict]]:
            times, reports = zip(*pool.map(lambda lane: lane.phase(known + policy, rounds), links))
            return list(times), list(reports)

        observed, _ = phase("[policy]\nobserve = true")
        _, split = phase("[policy]\nobserve = false")
        _, halved = phase('[policy]\nobserve = false\nsample = "50%"')
    print(f"8 Mbit/s, 500 ms, {options.loss:g} % loss, {options.hosts}; geometric means of {lanes * rounds} downloads, s")
    print("size         observed  split  model  model/observed  sample (number)  sample/observed  its model  report's error")
    for size in SIZES:
        before = mean([(1, took) for times in observed for took in times[size]])
        took, model = (over(split, size, "split", column) for column in ("mean_s", "model_mean_s"))
        sample, its_model, error = (
            over(halved, size, "sample", column) for column in ("mean_s", "model_mean_s", "model_error_factor")
        )
        number = sum(report[size]["sample"]["count"] for report in halved)
        print(
            f"{size:12} {before:8.2f} {took:6.2f} {model:6.2f} {model / before:15.2f} {sample:11.2f} ({number:2})"
            f" {sample / before:18.2f} {its_model:10.2f} {error:15.2f}",
        )


if __name__ == "__main__":
    main()
