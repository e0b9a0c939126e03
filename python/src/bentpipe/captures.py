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

    Attributes:
        connections: one row a TCP connection: its ends, when it began, packets, bytes, retransmissions and the smallest
            round-trip time of each direction. The first end sent the SYN.
        segments: one row a segment: `time_s` since the file's first, `seq` and `ack` as places in the streams (the SYN is
            at 0), `len` in bytes, `window` in bytes if its scale is known, `rtt_s` that it measures, `outstanding` bytes
            behind it, whether it is a `retransmission`, its `class`, and its `cause` where its sender has recorded that.
    """

    connections: Table
    segments: Table


def read_capture(path: str | Path) -> Capture:
    """Reads a pcap, a pcapng or a qlog. A file that ends too early is read up to there, with a warning.

    Raises:
        OSError: it cannot be read, is no capture, or has no TCP in it.
    """
    connections, segments, warning = _bentpipe.read_capture(Path(path))
    if warning:
        warnings.warn(warning, stacklevel=2)
    return Capture(Table(connections), Table(segments))
