"""Captures of anyone's packets, and recordings of what TCP does and why."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from . import _bentpipe
from .tables import Table

__all__ = ["Capture", "read_capture"]


@dataclass(frozen=True)
class Capture:
    """What a file says.

    `connections` has one row a TCP connection. The first end is the one that sent the SYN; "forward" is from there.

    | column | type | unit | says |
    | --- | --- | --- | --- |
    | `connection` | uint64 | | its number, from 0 |
    | `first_end` | str | | address and port |
    | `second_end` | str | | address and port |
    | `start_s` | float64 | s | its first packet, since the file's first segment |
    | `duration_s` | float64 | s | from its first packet to its last |
    | `packets_forward` | uint64 | packets | |
    | `packets_back` | uint64 | packets | |
    | `bytes_forward` | uint64 | bytes | of data, retransmissions included |
    | `bytes_back` | uint64 | bytes | |
    | `retransmissions_forward` | uint64 | segments | |
    | `retransmissions_back` | uint64 | segments | |
    | `min_rtt_forward_s` | float64 | s | smallest round-trip time that segments forward measure; null without one |
    | `min_rtt_back_s` | float64 | s | the same of segments back |

    `segments` has one row a segment, in the order of connections and then of the file.

    | column | type | unit | says |
    | --- | --- | --- | --- |
    | `connection` | uint64 | | whose |
    | `frame` | uint64 | | its number in the file, from 1 |
    | `time_s` | float64 | s | since the file's first segment |
    | `direction` | str | | "forward" or "back" |
    | `seq` | int64 | bytes | its place in the stream: the SYN is at 0 |
    | `ack` | int64 | bytes | the place that it acknowledges; null without ACK |
    | `len` | uint64 | bytes | of data |
    | `window` | uint64 | bytes | that it announces; null if its scale is not known |
    | `flags` | uint64 | | TCP's control bits: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK |
    | `retransmission` | bool | | whether its data were sent before |
    | `rtt_s` | float64 | s | the round-trip time that it measures; null if none |
    | `outstanding` | uint64 | bytes | sent in its direction and not acknowledged, behind it |
    | `class` | str | | the class of its cause, recorded or inferred |
    | `cause` | str | | why it was sent, where its sender has recorded that; else null |
    | `recorded` | bool | | whether it has |
    """

    connections: Table
    segments: Table


def read_capture(path: str | Path) -> Capture:
    """Reads a pcap, a pcapng or a qlog. What of it is cut off, missing, or in a layer that is not read is a warning.

    Raises:
        OSError: it cannot be read, is no capture, or has no TCP in it.

    Examples:
        >>> scenario = Scenario.load("geo-download").set("flow.download.bytes", "10KB").set("record.qlog", True)
        >>> folder = Campaign(scenario, runs=1, folder=tmp / "capture").run(figures=False).folder
        >>> capture = read_capture(folder / "packets" / "point-0-run-0" / "server.qlog")
        >>> len(capture.connections), [cause for cause in capture.segments.to_dict()["cause"] if cause][:2]
        (1, ['handshake', 'new data: the application wrote'])
    """
    connections, segments, lacks = _bentpipe.read_capture(Path(path))
    for lack in lacks:
        warnings.warn(f"{path}: {lack}", stacklevel=2)
    return Capture(Table(connections), Table(segments))
