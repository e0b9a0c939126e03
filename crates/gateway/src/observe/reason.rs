//! Why packets and connections are forwarded, and flows released.

/// Why a packet or a flow is forwarded and not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No flow in the table: older than the gateway, released, or never opened through it.
    UnknownFlow,
    /// The SYN carries data or an option that cannot be split (TFO, MPTCP, TCP-AO, MD5, unknown).
    Options,
    /// No memory or no room in the table.
    NoRoom,
    /// Too many connections whose SYN has no SYN-ACK yet: a flood of SYNs.
    HalfOpen,
    /// Its client has too many flows already.
    ClientLimit,
    /// A rule of the policy says so.
    Policy,
    /// It would be split, if the policy did not say to observe only.
    Observed,
    /// It is split once it has proved long.
    Short,
    /// It would be split, and is left unsplit as a sample to be measured.
    Sample,
    /// The connection takes, or took meanwhile, another path than through both of our sides.
    Route,
    /// The gateway is being stopped: new connections are not split, and old ones released.
    Draining,
    /// The server has refused it by a RST.
    Refused,
    /// The client has given it up by a RST, or asks for another one by the same ports.
    Aborted,
    /// A router says that the server cannot be reached.
    Unreachable,
    /// No SYN-ACK has come through us in time.
    Unanswered,
    /// The client has not acknowledged the SYN-ACK through us in time.
    Unfinished,
    /// Its hosts go on with what has not come through us: one of its directions takes another path.
    OneWay,
    /// What else belongs to a handshake and is the hosts' own: a simultaneous open, a forgery.
    NotOpened,
    /// A segment of a split connection with a signature that its SYN had not, or with a low hop
    /// limit: the far host's alone, if it reaches it.
    Past,
    /// Not whole, plain TCP.
    NotTcp,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 20] = [
        Reason::UnknownFlow,
        Reason::Options,
        Reason::NoRoom,
        Reason::HalfOpen,
        Reason::ClientLimit,
        Reason::Policy,
        Reason::Observed,
        Reason::Short,
        Reason::Sample,
        Reason::Route,
        Reason::Draining,
        Reason::Refused,
        Reason::Aborted,
        Reason::Unreachable,
        Reason::Unanswered,
        Reason::Unfinished,
        Reason::OneWay,
        Reason::NotOpened,
        Reason::Past,
        Reason::NotTcp,
    ];

    /// Those of packets of handshakes.
    pub const OF_HANDSHAKES: [Reason; 5] =
        [Reason::Refused, Reason::Aborted, Reason::Unreachable, Reason::OneWay, Reason::NotOpened];

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Reason::UnknownFlow => "unknown-flow",
            Reason::Options => "options",
            Reason::NoRoom => "no-room",
            Reason::HalfOpen => "half-open",
            Reason::ClientLimit => "client-limit",
            Reason::Policy => "policy",
            Reason::Observed => "observed",
            Reason::Short => "short",
            Reason::Sample => "sample",
            Reason::Route => "route",
            Reason::Draining => "draining",
            Reason::Refused => "refused",
            Reason::Aborted => "aborted",
            Reason::Unreachable => "unreachable",
            Reason::Unanswered => "unanswered",
            Reason::Unfinished => "unfinished",
            Reason::OneWay => "one-way",
            Reason::NotOpened => "not-opened",
            Reason::Past => "past",
            Reason::NotTcp => "not-tcp",
        }
    }

    /// Whether there was a connection that could have been split.
    pub fn leaves_a_connection(self) -> bool {
        !matches!(
            self,
            Reason::Refused
                | Reason::Aborted
                | Reason::Unreachable
                | Reason::Unanswered
                | Reason::Unfinished
                | Reason::NotOpened
        )
    }
}

/// Why a flow is released to plain forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// Nothing has come for long, and nothing is held.
    Idle,
    /// The route of a direction has changed.
    Route,
    /// The gateway at the other end of a leg has forgotten it: what comes is the host's own.
    Peer,
    /// A host has taken a segment that was forwarded past the flow.
    Past,
    /// The gateway is being stopped.
    Drain,
    /// It is to split nothing any more, and to observe.
    Observe,
}

impl Release {
    /// All of them.
    pub const ALL: [Release; 6] = [
        Release::Idle,
        Release::Route,
        Release::Peer,
        Release::Past,
        Release::Drain,
        Release::Observe,
    ];

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Release::Idle => "idle",
            Release::Route => "route",
            Release::Peer => "peer",
            Release::Past => "past",
            Release::Drain => "drain",
            Release::Observe => "observe",
        }
    }
}

impl From<Release> for Reason {
    fn from(why: Release) -> Reason {
        match why {
            Release::Idle => Reason::UnknownFlow,
            Release::Route | Release::Peer => Reason::Route,
            Release::Past => Reason::Past,
            Release::Drain => Reason::Draining,
            Release::Observe => Reason::Observed,
        }
    }
}
