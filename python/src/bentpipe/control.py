"""A congestion control in Python: its samples and its answers."""

from __future__ import annotations

from typing import Any

__all__ = ["CongestionControl"]


class CongestionControl:
    """A congestion control written in Python. All sizes are in bytes, all times in seconds, all rates in bit/s of payload.

    This one is Reno's, without its slow start's refinements; change what is to be another. Each connection has an instance
    of its own. A scenario's TCPs name it (`bentpipe.Scenario`, `controls=`), a `Path` is given an instance (`control=`).

    A method takes those keyword arguments that it names, and all with `**sample`. It returns whole bytes. Every
    acknowledgment calls Python, which takes half a microsecond and what the method does.

    Attributes:
        pacing_rate: how fast segments leave, whatever the window; None: as the TCP is configured. It is looked at after
            each call, so that a method sets it: `self.pacing_rate = 1.2 * delivery_rate`.
        decides_in_recovery: `on_ack` is called in fast recovery, too, and the window is at any time what the methods
            say: after a loss, and after a timeout, what `on_loss` returns. Without it recovery is TCP's own (RFC 6675, 9937).

    Examples:
        >>> class Steady(CongestionControl):
        ...     def on_ack(self, smss):
        ...         return 20 * smss
        ...     on_loss = on_ack
        >>> from bentpipe.tcp import Path
        >>> path = Path(control=Steady())
        >>> path.client.write(bytes(100_000))
        100000
        >>> sent = list(path.run(until=10))
        >>> known = path.client.observe()
        >>> known.cwnd // known.smss, known.delivered >= 100_000
        (20, True)
    """

    pacing_rate: float | None = None
    decides_in_recovery: bool = False

    def initial_window(self, smss: int) -> int:
        """The first window. Where a class has no such method it is the TCP's own: ten segments of `linux` (RFC 6928)."""
        return 10 * smss

    def on_ack(self, *, cwnd: int, ssthresh: int | None, smss: int, acked: int, **sample: Any) -> int:
        """New data was acknowledged, outside fast recovery unless the class has `decides_in_recovery`: the new window.

        | argument | says |
        | --- | --- |
        | `now` | the time |
        | `cwnd`, `ssthresh` | the window and the slow start threshold, None before the first loss |
        | `smss` | the size of a full segment |
        | `acked` | bytes newly acknowledged; in recovery those newly reported (SACK) |
        | `newly_delivered`, `delivered` | bytes newly reported, cumulatively or selectively, and all so far |
        | `lost` | bytes newly marked lost |
        | `rtt`, `srtt`, `min_rtt` | round-trip time: as just measured or None, smoothed (RFC 6298), the smallest |
        | `in_flight`, `in_flight_after` | bytes in flight before this acknowledgment, and after it |
        | `delivery_rate` | as just measured (draft-ietf-ccwg-bbr, 4.1), or None |
        | `app_limited` | the sender had no more to send when that was measured: the path may be faster |
        | `prior_delivered` | `delivered` as it was when the newest of these segments left, or None |
        | `round` | round trips so far |
        | `in_recovery` | fast recovery is under way |
        | `window_limited` | the window, not the application or the peer, limited what was in flight |
        """
        if ssthresh is None or cwnd < ssthresh:
            return cwnd + acked
        return cwnd + max(1, smss * acked // cwnd)

    def on_loss(self, *, in_flight: int, smss: int, timeout: bool, **sample: Any) -> int:
        """Fast recovery begins, or the retransmission timer has expired: the new threshold, which is then the window. After
        a timeout the window begins at one segment. With `decides_in_recovery`: the new window, in either case.

        | argument | says |
        | --- | --- |
        | `now`, `cwnd`, `ssthresh`, `smss` | as for `on_ack` |
        | `in_flight` | bytes that were in flight |
        | `timeout` | it was the retransmission timer |
        """
        return max(in_flight // 2, 2 * smss)
