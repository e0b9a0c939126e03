"""Two ends and a link in each direction, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

from . import _bentpipe
from ._bentpipe import Link, Segment
from .connection import Connection
from .control import CongestionControl

__all__ = ["Path", "Sent"]


@dataclass(frozen=True)
class Sent:
    """A segment that has left an end.

    Attributes:
        time: when, in seconds.
        end: "client" or "server"; in a `Network` the name of the flow, or "NAME's receiver".
        segment: it.
    """

    time: float
    end: str
    segment: Segment

    def __str__(self) -> str:
        return f"{self.time:.3f} {self.end} {repr(self.segment).removeprefix('<Segment ').removesuffix('>')}"


def links(
    rate: str | float | None,
    delay: str | float,
    queue: str,
    loss: str | float,
    seed: int,
    trace: str | PathLike[str] | None,
    back_rate: str | float | None,
    back_trace: str | PathLike[str] | None,
) -> tuple[Link, Link]:
    """Both directions. The rate of the way back, and then its trace, override what holds for both."""
    if seed < 0:
        raise ValueError(f"seed is {seed} (expected 0 or more)")
    forward = Link(rate, delay, queue, loss, seed=2 * seed, trace=trace)
    fixed = back_rate is not None and back_trace is None
    rate, trace = back_rate if back_rate is not None else rate, back_trace if back_trace is not None else trace
    return forward, Link(rate, delay, queue, loss, seed=2 * seed + 1, trace=trace, fixed_rate=fixed)


def moment(until: float, now: float) -> float:
    """`until` as it was given to a `run`.

    Raises:
        ValueError: it is before `now`, or no time.
    """
    if not until >= now:
        raise ValueError(f"until is {until} (expected seconds from now on: {now})")
    return until


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
        trace: str | PathLike[str] | None = None,
        back_rate: str | float | None = None,
        back_trace: str | PathLike[str] | None = None,
    ) -> None:
        """Both directions are the same unless something is said of the way back; losses are drawn apart.

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
            trace: a file with rate, delay and loss over time, as a scenario's link has it.
            back_rate: the rate from the server to the client.
            back_trace: a trace of that direction alone.

        Raises:
            ValueError: there is no such TCP or trace, or a quantity cannot have this value.
        """
        for tcp in (client, server):
            _bentpipe.check_tcp(tcp)
        self.now = 0.0
        self.client = Connection.connect(0.0, client, control=control)
        self.server: Connection | None = None
        self.forward, self.back = links(rate, delay, queue, loss, seed, trace, back_rate, back_trace)
        self._server, self._server_control, self._reads = server, server_control, reads
        self._to_write, self._written = b"", 0

    def serve(self, data: bytes) -> None:
        """What the server writes as soon as there is room, and then closes."""
        self._to_write, self._written = bytes(data), 0

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

        Raises:
            ValueError: that moment is before `now`.
        """
        return self._run(moment(until, self.now))

    def _run(self, until: float) -> Iterator[Sent]:
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
                end.discard()
        if self._to_write and self.server is not None and self.server.observe() is not None:
            # A copy of what there is room for, not of all that is left.
            room = self.server.writable
            self._written += self.server.write(self._to_write[self._written : self._written + room]) if room else 0
            if self._written == len(self._to_write):
                self._to_write = b""
                self.server.close()

    def _transmit(self) -> list[Sent]:
        sent = []
        for name, end, link in (("client", self.client, self.forward), ("server", self.server, self.back)):
            while end is not None and (segment := end.transmit(self.now)) is not None:
                link.send(self.now, segment)
                sent.append(Sent(self.now, name, segment))
        return sent
