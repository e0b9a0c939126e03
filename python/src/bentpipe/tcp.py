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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import _bentpipe
from ._bentpipe import Link, Segment

__all__ = ["CongestionControl", "Connection", "Link", "Observation", "Path", "Segment", "Sent", "presets"]


def presets() -> dict[str, str]:
    """The TCPs that have a name, and what each is.

    Examples:
        >>> "windows-95" in presets()
        True
    """
    return dict(_bentpipe.presets())


class CongestionControl:
    """A congestion control written in Python. All sizes are in bytes, all times in seconds.

    Every acknowledgment calls Python: some microseconds each, so that this is for teaching and for trying things out. What
    is to run in scenarios and gateways is written in Rust (docs/extending.md). This one is Reno's, without its slow start's
    refinements; change what is to be another.

    Examples:
        >>> class Steady(CongestionControl):
        ...     def on_ack(self, *, smss, **sample):
        ...         return 20 * smss
        ...     on_loss = on_ack
        >>> path = Path(control=Steady())
        >>> path.client.write(bytes(100_000))
        100000
        >>> sent = list(path.run(until=10))
        >>> known = path.client.observe()
        >>> known.cwnd // known.smss, known.delivered >= 100_000
        (20, True)
    """

    def initial_window(self, smss: int) -> int:
        """The first window: ten segments (RFC 6928)."""
        return 10 * smss

    def on_ack(self, *, cwnd: int, ssthresh: int | None, smss: int, acked: int, **sample: Any) -> int:
        """New data was acknowledged outside fast recovery: the new window.

        Args:
            cwnd: the window.
            ssthresh: the slow start threshold, None before the first loss.
            smss: the size of a full segment.
            acked: bytes newly acknowledged.
            sample: `now`, `rtt` that was measured or None, `srtt`, `min_rtt`, `in_flight`, `window_limited`.
        """
        if ssthresh is None or cwnd < ssthresh:
            return cwnd + acked
        return cwnd + max(1, smss * acked // cwnd)

    def on_loss(self, *, in_flight: int, smss: int, timeout: bool, **sample: Any) -> int:
        """A loss, or a timeout: the new threshold. After a timeout the window begins at one segment.

        Args:
            in_flight: bytes that were in flight.
            smss: the size of a full segment.
            timeout: it was the retransmission timer.
            sample: `now`, `cwnd`, `ssthresh`.
        """
        return max(in_flight // 2, 2 * smss)


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


@dataclass(frozen=True)
class Sent:
    """A segment that has left an end.

    Attributes:
        time: when, in seconds.
        end: "client" or "server".
        segment: it.
    """

    time: float
    end: str
    segment: Segment

    def __str__(self) -> str:
        return f"{self.time:.3f} {self.end} {repr(self.segment).removeprefix('<Segment ').removesuffix('>')}"


class Path:
    """Two ends and a link in each direction. The client opens at 0 s; the server answers.

    Attributes:
        now: the time, in seconds.
        client: the end that opens.
        server: the other one; None until the SYN has come.
        forward: the link from the client to the server.
        back: the link from the server to the client.
    """

    def __init__(
        self,
        *,
        rate: str | float | None = "8Mbit/s",
        delay: str | float = 0.25,
        queue: str = "unlimited",
        loss: str | float = 0.0,
        seed: int = 1,
        client: str = "linux",
        server: str = "linux",
        control: CongestionControl | None = None,
        server_control: CongestionControl | None = None,
        reads: bool = True,
    ) -> None:
        """Both directions are the same; losses are drawn apart.

        Args:
            rate: of the link, such as "8Mbit/s" or, in bit/s, 8e6; None: a segment takes no time.
            delay: one way, in seconds or with a unit: 0.25 or "250ms".
            queue: before the link: "60packets", "100KB", "codel".
            loss: of each packet, as a probability or per cent: 0.01 or "1%".
            seed: of what is random.
            client: the client's TCP.
            server: the server's TCP.
            control: a congestion control in Python for the client, which opens.
            server_control: the same for the server: in a download it is the server that sends.
            reads: both applications read whatever comes; without it, `Connection.read` is yours to call.
        """
        self.now = 0.0
        self.client = Connection.connect(0.0, client, control=control)
        self.server: Connection | None = None
        self.forward = Link(rate, delay, queue, loss, seed=2 * seed)
        self.back = Link(rate, delay, queue, loss, seed=2 * seed + 1)
        self._server, self._server_control, self._reads = server, server_control, reads
        self._to_write = b""

    def serve(self, data: bytes) -> None:
        """What the server writes as soon as there is room, and then closes."""
        self._to_write = data

    def step(self) -> list[Sent] | None:
        """Goes on to the next event: something arrives, a timer fires, or an application has written. Returns what was sent
        then, which may be an empty list; None if nothing will ever happen again.

        Examples:
            >>> path = Path(delay="250ms")
            >>> while (sent := path.step()) is not None and path.now < 1:
            ...     print(path.now, [str(event) for event in sent])
            0.0 ['0.000 client SYN seq=1000 len=0: handshake']
            0.25006 ['0.250 server SYN ACK seq=2000 ack=1001 len=0: handshake']
            0.50012 ['0.500 client ACK seq=1001 ack=2001 len=0: ACK: the last segment of the handshake']
            0.750172 []
        """
        sent = self._transmit()
        if sent:
            return sent
        moment = self._next()
        if moment is None:
            return None
        self._go(moment)
        return self._transmit()

    def run(self, until: float) -> Iterator[Sent]:
        """All that is sent up to a moment, which is then `now`. What is still on its way arrives when it goes on.

        It is a generator: time goes on only as far as it is asked for the next segment, so that both ends can be looked at
        after each, and nothing happens if nobody iterates. `list(path.run(until=5))` goes all the way.
        """
        while (sent := self._transmit()) or ((moment := self._next()) is not None and moment <= until):
            if not sent:
                self._go(moment)
            yield from sent
        if moment is not None:
            self.now = max(self.now, until)

    def _next(self) -> float | None:
        """When the next thing happens, if ever."""
        due = [end.next for end in (self.client, self.server) if end is not None]
        due += [self.forward.next, self.back.next]
        return min((moment for moment in due if moment is not None), default=None)

    def _go(self, moment: float) -> None:
        """Everything of this moment happens, but nothing is sent."""
        self.now = max(self.now, moment)
        while (segment := self.forward.receive(self.now)) is not None:
            if self.server is None:
                self.server = Connection.accept(self.now, segment, self._server, control=self._server_control)
            else:
                self.server.receive(self.now, segment)
        while (segment := self.back.receive(self.now)) is not None:
            self.client.receive(self.now, segment)
        for end in (self.client, self.server):
            if end is not None and end.next is not None and end.next <= self.now:
                end.timeout(self.now)
        self._applications()

    def _applications(self) -> None:
        for end in (self.client, self.server):
            if end is not None and self._reads:
                end.read()
        if self._to_write and self.server is not None and self.server.observe() is not None:
            taken = self.server.write(self._to_write)
            self._to_write = self._to_write[taken:]
            if not self._to_write:
                self.server.close()

    def _transmit(self) -> list[Sent]:
        sent = []
        for name, end, link in (("client", self.client, self.forward), ("server", self.server, self.back)):
            while end is not None and (segment := end.transmit(self.now)) is not None:
                link.send(self.now, segment)
                sent.append(Sent(self.now, name, segment))
        return sent
