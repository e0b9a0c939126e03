"""One end of a connection, by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _bentpipe
from ._bentpipe import Segment
from .control import CongestionControl

__all__ = ["Connection", "Observation"]


@dataclass(frozen=True)
class Observation:
    """What one end knows. Sizes in bytes; places in the streams are offsets, 1 is the first byte's; times in seconds.

    Attributes:
        cwnd: the congestion window.
        ssthresh: the slow start threshold; None as long as it is as good as infinite.
        in_flight: held to be in the network (`pipe` of RFC 6675).
        delivered: ever delivered.
        lost: ever taken for lost.
        snd_una: the first place not acknowledged.
        snd_nxt: the first place not sent.
        window_edge: the first place that the peer does not allow.
        rcv_nxt: the next place that is expected.
        srtt: the smoothed round-trip time (RFC 6298), None before the first measurement.
        rttvar: its variation.
        min_rtt: the smallest round-trip time.
        rto: the retransmission timeout, back-off included.
        phase: "open", "recovery" or "loss".
        limiter: what keeps the next segment back.
        timeouts: expiries of the retransmission timer.
        recoveries: episodes of fast recovery.
        smss: the size of a full segment.
    """

    cwnd: int
    ssthresh: int | None
    in_flight: int
    delivered: int
    lost: int
    snd_una: int
    snd_nxt: int
    window_edge: int
    rcv_nxt: int
    srtt: float | None
    rttvar: float
    min_rtt: float | None
    rto: float
    phase: str
    limiter: str | None
    timeouts: int
    recoveries: int
    smss: int


class Connection:
    """One end of a connection: all of a host's TCP. `Path` makes two; by hand, `connect` and `accept` do.

    It may only be used by the thread that has made it.

    Examples:
        >>> from bentpipe.tcp import Link
        >>> client, forward, back = Connection.connect(0.0), Link(delay="250ms"), Link(delay="250ms")
        >>> forward.send(0.0, client.transmit(0.0))  # arrives at 0.25 s, which is `forward.next`
        >>> server = Connection.accept(0.25, forward.receive(0.25))
        >>> back.send(0.25, server.transmit(0.25))
        >>> client.receive(0.5, back.receive(0.5))
        >>> client.state, client.event()
        ('ESTABLISHED', 'connected')
        >>> client.write(b"hello")
        5
        >>> client.transmit(0.5)
        <Segment ACK PSH seq=1001 ack=2001 len=5: new data: the application wrote>
    """

    def __init__(self, connection: _bentpipe.Connection) -> None:
        self._tcp = connection

    @classmethod
    def connect(
        cls, now: float, tcp: str = "linux", *, isn: int = 1000, control: CongestionControl | None = None, **settings: Any
    ) -> Connection:
        """Opens actively.

        Args:
            now: the time.
            tcp: a preset, with settings as in a scenario: "linux recovery=sack".
            isn: the initial sequence number.
            control: a congestion control in Python.
            settings: keys of `bentpipe presets linux`, with `_` for `-`: `iw=4`.

        Raises:
            ValueError: there is no such preset or key, or it cannot have this value.
        """
        return cls(_bentpipe.Connection.connect(now, tcp, _settings(settings), isn, control))

    @classmethod
    def accept(
        cls,
        now: float,
        syn: Segment,
        tcp: str = "linux",
        *,
        isn: int = 2000,
        control: CongestionControl | None = None,
        **settings: Any,
    ) -> Connection:
        """Answers a SYN; see `connect`."""
        return cls(_bentpipe.Connection.accept(now, syn, tcp, _settings(settings), isn, control))

    def receive(self, now: float, segment: Segment) -> None:
        """A segment has come."""
        self._tcp.receive(now, segment)

    def transmit(self, now: float) -> Segment | None:
        """The next segment to be sent now; None if nothing may be."""
        return self._tcp.transmit(now)

    def timeout(self, now: float) -> None:
        """Its timers that are due by now."""
        self._tcp.timeout(now)

    @property
    def next(self) -> float | None:
        """When `timeout` is to be called, if ever."""
        return self._tcp.next

    def write(self, data: bytes) -> int:
        """The application writes; returns how many bytes were taken."""
        return self._tcp.write(data)

    def read(self, limit: int = 1 << 30) -> bytes:
        """The application reads what has come, at most so many bytes."""
        return self._tcp.read(limit)

    def discard(self) -> int:
        """The application reads what has come; returns only how many bytes that is."""
        return self._tcp.discard()

    def close(self) -> None:
        """The application has no more to write."""
        self._tcp.close()

    def abort(self) -> None:
        """The application gives the connection up: a reset is sent."""
        self._tcp.abort()

    def event(self) -> str | None:
        """The next event for the application: "connected", "peer-closed", "reset", "timed-out", "unreachable", "closed"."""
        return self._tcp.event()

    @property
    def state(self) -> str:
        """Its state in RFC 9293's words: "ESTABLISHED"."""
        return self._tcp.state

    @property
    def readable(self) -> int:
        """Bytes that wait to be read."""
        return self._tcp.readable

    @property
    def writable(self) -> int:
        """Bytes that `write` would take now."""
        return self._tcp.writable

    def observe(self) -> Observation | None:
        """What it knows; None before the handshake is complete."""
        known = self._tcp.observe()
        return Observation(**known) if known else None

    def __repr__(self) -> str:
        known = self.observe()
        return f"<Connection {self.state}" + (f" cwnd={known.cwnd} in_flight={known.in_flight}>" if known else ">")


def _settings(settings: dict[str, Any]) -> list[tuple[str, str]]:
    words = {True: "on", False: "off"}
    text = lambda value: words[value] if isinstance(value, bool) else str(value)
    return [(key.replace("_", "-"), text(value)) for key, value in settings.items()]
