"""Several flows that share one link, by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike

from . import _bentpipe
from ._bentpipe import Link
from .connection import Connection
from .control import CongestionControl
from .path import Sent, links, moment

__all__ = ["Flow", "Network"]


@dataclass(frozen=True)
class Flow:
    """What is sent over a `Network`, and by which TCP.

    Attributes:
        name: its name.
        tcp: the sender's TCP: "linux,congestion=bbr".
        control: a congestion control in Python for the sender; its own object, not one that another flow has.
        size: bytes that are sent, and then the sender closes; None: it always has more.
        start: when it opens, in seconds.
        receiver: the receiver's TCP.
    """

    name: str
    tcp: str = "linux"
    control: CongestionControl | None = None
    size: int | None = None
    start: float = 0.0
    receiver: str = "linux"


class _Ends:
    """The two ends of a flow."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.sender: Connection | None = None
        self.receiver: Connection | None = None
        self.left = flow.size
        self.delivered = 0

    def next(self, now: float) -> float | None:
        """When something is to be done without a segment."""
        if self.sender is None:
            return max(now, self.flow.start)
        due = [end.next for end in (self.sender, self.receiver) if end is not None]
        return min((at for at in due if at is not None), default=None)

    def write(self) -> None:
        """The sending application has more."""
        if self.sender is None or self.left == 0:
            return
        room = self.sender.writable
        wanted = room if self.left is None else min(room, self.left)
        taken = self.sender.write(bytes(wanted)) if wanted else 0
        if self.left is not None:
            self.left -= taken
            if self.left == 0:
                self.sender.close()


class Network:
    """Flows in one direction over a link that they share, and their acknowledgments over another.

    Attributes:
        now: the time, in seconds.
        forward: the link from the senders to the receivers.
        back: the link from the receivers to the senders.

    Examples:
        >>> network = Network([Flow("cubic"), Flow("bbr", "linux,congestion=bbr", start=1.0)], rate="8Mbit/s", delay=0.02)
        >>> segments = sum(1 for _ in network.run(until=10.0))
        >>> network.delivered("cubic") + network.delivered("bbr") > 9_000_000
        True
        >>> network.sender("bbr").observe().min_rtt > 0.04
        True
    """

    def __init__(
        self,
        flows: Iterable[Flow],
        *,
        rate: str | float | None = "8Mbit/s",
        delay: str | float = 0.25,
        queue: str = "unlimited",
        loss: str | float = 0.0,
        seed: int = 1,
        trace: str | PathLike[str] | None = None,
        back_rate: str | float | None = None,
        back_trace: str | PathLike[str] | None = None,
    ) -> None:
        """The link is as that of a `Path`, whose client's place the senders take.

        Raises:
            ValueError: two flows have one name or one control, there is no such TCP or trace, or a quantity cannot have
                this value.
        """
        self.now = 0.0
        self.forward, self.back = links(rate, delay, queue, loss, seed, trace, back_rate, back_trace)
        self._ends = [_Ends(flow) for flow in flows]
        self._by_name = {ends.flow.name: ends for ends in self._ends}
        if len(self._by_name) < len(self._ends):
            raise ValueError(f"two flows have one name (there are {', '.join(ends.flow.name for ends in self._ends)})")
        controls = [ends.flow.control for ends in self._ends if ends.flow.control is not None]
        if len({id(control) for control in controls}) < len(controls):
            raise ValueError("two flows have one object as their control (each needs its own)")
        for ends in self._ends:
            _bentpipe.check_tcp(ends.flow.tcp)
            _bentpipe.check_tcp(ends.flow.receiver)

    def sender(self, name: str) -> Connection | None:
        """The sending end of a flow; None before it begins."""
        return self._of(name).sender

    def receiver(self, name: str) -> Connection | None:
        """The receiving end of a flow; None before its SYN has come."""
        return self._of(name).receiver

    def delivered(self, name: str) -> int:
        """Bytes of a flow that its receiver's application has read."""
        return self._of(name).delivered

    def _of(self, name: str) -> _Ends:
        if name not in self._by_name:
            raise KeyError(f"there is no flow {name!r} (there are {', '.join(self._by_name)})")
        return self._by_name[name]

    def run(self, until: float) -> Iterator[Sent]:
        """All that is sent up to a moment, which is then `now`: a generator, as `Path.run` is.

        Raises:
            ValueError: that moment is before `now`.
        """
        return self._run(moment(until, self.now))

    def _run(self, until: float) -> Iterator[Sent]:
        while True:
            at = self._next()
            if at is None or at > until:
                break
            self.now = max(self.now, at)
            yield from self._go()
        self.now = max(self.now, until)

    def _next(self) -> float | None:
        due = [ends.next(self.now) for ends in self._ends]
        due += [self.forward.next, self.back.next]
        return min((at for at in due if at is not None), default=None)

    def _go(self) -> Iterator[Sent]:
        """Everything of this moment happens. Only ends to which something has happened can have something to send."""
        now, touched = self.now, set()
        for number, ends in enumerate(self._ends):
            if ends.sender is None and ends.flow.start <= now:
                ends.sender = Connection.connect(now, ends.flow.tcp, control=ends.flow.control)
                touched.add(number)
        while (segment := self.forward.receive(now)) is not None:
            ends = self._ends[segment.flow]
            if ends.receiver is None:
                ends.receiver = Connection.accept(now, segment, ends.flow.receiver)
            else:
                ends.receiver.receive(now, segment)
            ends.delivered += ends.receiver.discard()
            touched.add(segment.flow)
        while (segment := self.back.receive(now)) is not None:
            self._ends[segment.flow].sender.receive(now, segment)
            touched.add(segment.flow)
        for number, ends in enumerate(self._ends):
            for end in (ends.sender, ends.receiver):
                if end is not None and (due := end.next) is not None and due <= now:
                    end.timeout(now)
                    touched.add(number)
        for number in sorted(touched):
            yield from self._transmit(number)

    def _transmit(self, number: int) -> Iterator[Sent]:
        ends = self._ends[number]
        ends.write()
        name = ends.flow.name
        for label, end, link in ((name, ends.sender, self.forward), (f"{name}'s receiver", ends.receiver, self.back)):
            yield from self._all_of(label, end, link, number)

    def _all_of(self, label: str, end: Connection | None, link: Link, number: int) -> Iterator[Sent]:
        while end is not None and (segment := end.transmit(self.now)) is not None:
            link.send(self.now, segment, number)
            yield Sent(self.now, label, segment)
