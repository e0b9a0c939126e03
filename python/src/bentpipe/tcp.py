"""TCP by hand: the core that simulator and gateways run, segment by segment.

Nothing here has a clock or a thread. Every call says what time it is, in seconds, and the same calls give the same
segments. `Path` joins two ends by a link in each direction and moves from one event to the next.

Examples:
    >>> path = Path(rate="8Mbit/s", delay=0.25)
    >>> path.client.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    18
    >>> for event in path.run(until=2.0):
    ...     print(event)
    0.000 client SYN seq=1000 len=0: handshake
    0.250 server SYN ACK seq=2000 ack=1001 len=0: handshake
    0.500 client ACK PSH seq=1001 ack=2001 len=18: new data: the application wrote
    ...
"""

from __future__ import annotations

from . import _bentpipe
from ._bentpipe import Link, Segment
from .connection import Connection, Observation
from .control import CongestionControl
from .network import Flow, Network
from .path import Path, Sent

__all__ = [
    "CongestionControl",
    "Connection",
    "Flow",
    "Link",
    "Network",
    "Observation",
    "Path",
    "Segment",
    "Sent",
    "presets",
]


def presets() -> dict[str, str]:
    """The TCPs that have a name, and what each is.

    Examples:
        >>> "windows-95" in presets()
        True
    """
    return dict(_bentpipe.presets())
