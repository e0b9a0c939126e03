//! The presets. Where a number comes from stands in each preset's `source`; what no source gives is
//! said to be assumed. Limited transmit (RFC 3042, of 2001) is off in those of 1997 and before;
//! those of them without timestamps time one segment in a round trip.

/// A named configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Which TCP it stands for, in one line.
    pub about: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
    /// What sets it apart from the default.
    pub text: &'static str,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "linux",
        about: "today's Linux: RACK-TLP, PRR, CUBIC, timestamps, ten segments at first, a window tuned up to 16 MiB",
        source: "Linux 6.18, net/ipv4: TCP_RTO_MIN 200 ms (which the RTO adds to SRTT at least), TCP_RTO_MAX 120 s, \
                 TCP_DELACK_MIN 40 ms, TCP_TIMEWAIT_LEN 60 s, tcp_retries2 15, tcp_syn_retries 6, tcp_rmem (128 KiB, at \
                 most 32 MiB where there are 4 GiB of memory; half of it for windows, TCP_DEFAULT_SCALING_RATIO). \
                 HyStart++ stands for CUBIC's own HyStart; W_est is that of bictcp_update().",
        text: "receive-buffer=64KiB,receive-buffer-max=16MiB,window-scale=10,ack=delayed:40ms,\
               recovery=rack,reduction=prr-as-linux,undo=on,congestion=cubic:as-linux=on,slow-start=hystart,iw=10,byte-limit=off,\
               rto.min=200ms,rto.max=120s,rto.granularity=200ms,syn-retries=6,max-retries=15,time-wait=60s",
    },
    Preset {
        name: "bsd-reno-1997",
        about: "4.4BSD-Lite: Reno, 16 KB buffers, RFC 1323, one segment at first, 500 ms and 200 ms timers",
        source: "4.4BSD's tcp_timer.h: TCPTV_SRTTDFLT 3 s (a first RTO of 6 s), TCPTV_MIN 1 s, TCPTV_REXMTMAX \
                 64 s, TCP_MAXRXTSHIFT 12, TCPTV_MSL 30 s; protosw.h: PR_SLOWHZ 2, PR_FASTHZ 5. A SYN goes out \
                 three times (Stevens, TCP/IP Illustrated 1, 18.3); BSD gives up at TCPTV_KEEP_INIT 75 s, this \
                 one at 42 s.",
        text: "mss=1460,send-buffer=16KiB,receive-buffer=16KiB,window-scale=0,sack=off,\
               timestamps=on,ack=heartbeat:200ms,recovery=reno,limited-transmit=off,iw=1,byte-limit=1,\
               rto.initial=6s,rto.min=1s,rto.max=64s,rto.granularity=500ms,rto.tick=500ms,\
               max-retries=12,syn-retries=2,time-wait=60s",
    },
    Preset {
        name: "netbsd-fack-1997",
        about: "NetBSD with the FACK patches: SACK, large windows, one segment at first, BSD's timers",
        source: "The timers are bsd-reno-1997's. Assumed: the buffers. The BBN report (section 11) ran it with \
                 ack=per-segment, because of a bug in its delayed acknowledgments.",
        text: "mss=1460,send-buffer=1MiB,receive-buffer=1MiB,window-scale=5,sack=on,\
               timestamps=on,ack=heartbeat:200ms,recovery=fack,limited-transmit=off,iw=1,byte-limit=1,\
               rto.initial=6s,rto.min=1s,rto.max=64s,rto.granularity=500ms,rto.tick=500ms,\
               max-retries=12,syn-retries=2,time-wait=60s",
    },
    Preset {
        name: "windows-nt4",
        about: "Windows NT 4.0: windows of six segments (8760 bytes), no options but MSS",
        source: "Microsoft Knowledge Base: Q120642 (TcpMaxConnectRetransmissions 3, TcpTimedWaitDelay 240 s, \
                 TcpWindowSize 8760 on Ethernet), Q223450 (a first RTO of 3 s), Q170359 (TcpMaxDataRetransmissions \
                 5, an RTO of at most 240 s). Assumed: the clock of 100 ms and the minimum RTO of 300 ms. \
                 Not modelled: the RTO's arithmetic was wrong before Service Pack 6 (Q232512).",
        text: "mss=1460,send-buffer=8760B,receive-buffer=8760B,window-scale=off,sack=off,\
               timestamps=off,ack=delayed:200ms,recovery=reno,limited-transmit=off,iw=1,byte-limit=1,\
               rto.initial=3s,rto.min=300ms,rto.max=240s,rto.granularity=100ms,rto.tick=100ms,rto.samples=round-trip,\
               max-retries=5,syn-retries=3,time-wait=240s",
    },
    Preset {
        name: "windows-95",
        about: "Windows 95: windows of six segments (8760 bytes), no options but MSS",
        source: "Microsoft Knowledge Base Q158474: DefaultRcvWindow 8192, MaxConnectRetries 3, MaxDataRetries 5. \
                 The window is rounded up to whole segments: so says Microsoft of this stack in NT 4.0 (Networking Guide, \
                 MSDN of June 1998: TcpWindowSize), and a trace of Windows 98 shows a SYN with 8192 and 8760 behind it \
                 (B. Mansell, linux-kernel, 30 November 2000). In that trace a single first segment is acknowledged after \
                 107 to 192 ms. The timer as in windows-nt4, which is assumed.",
        text: "mss=1460,send-buffer=8KiB,receive-buffer=8760B,window-scale=off,sack=off,\
               timestamps=off,ack=delayed:200ms,recovery=reno,limited-transmit=off,iw=1,byte-limit=1,\
               rto.initial=3s,rto.min=300ms,rto.max=240s,rto.granularity=100ms,rto.tick=100ms,rto.samples=round-trip,\
               max-retries=5,syn-retries=3,time-wait=240s",
    },
    Preset {
        name: "ns-1997",
        about: "ns before 1998: 1000-byte packets, every one acknowledged, one at first, 100 ms ticks",
        source: "ns-default.tcl 1.82 (20 December 1997): packetSize_ 1000, windowInit_ 1, tcpTick_ 0.1, minrto_ 0, \
                 rtxcur_init_ 6, syn_ false, useHeaders_ false (with mss=960 a packet is 1000 bytes long, its 40 of \
                 headers included), singledup_ 0 (limited-transmit). Recovery is ns's choice of agent: Agent/TCP is \
                 recovery=tahoe, Agent/TCP/Reno reno, /Newreno newreno, /Sack1 sack, /Fack fack.",
        text: "opening=prearranged,mss=1000,send-buffer=64MiB,receive-buffer=16MiB,window-scale=9,sack=on,\
               timestamps=off,ack=per-segment,recovery=reno,limited-transmit=off,iw=1,byte-limit=1,\
               rto.initial=6s,rto.min=0s,rto.max=64s,rto.granularity=100ms,rto.tick=100ms,rto.samples=round-trip,\
               overhead=0B,nagle=off,restart-after-idle=off",
    },
    Preset {
        name: "gateway-satellite",
        about: "a gateway's leg on the satellite side: RACK-TLP, PRR, CUBIC, a patient timer, all bytes counted",
        source: "This project, by `cargo bench -p bentpipe-sim --bench gateway_recovery`; the minimum RTO is RFC 6298's, rule 2.4.",
        text: "ack=delayed:40ms,recovery=rack,reduction=prr,undo=on,congestion=cubic,iw=10,byte-limit=off,rto.min=1s,\
               rto.granularity=200ms,spare-copies=on,nagle=off",
    },
    Preset {
        name: "gateway-terrestrial",
        about: "a gateway's leg on the LAN side: every segment acknowledged, all bytes counted, Linux's CUBIC",
        source: "This project. Hosts next to it on a terrestrial link have Linux's CUBIC.",
        text: "ack=per-segment,recovery=sack,undo=on,congestion=cubic:as-linux=on,slow-start=hystart,iw=10,byte-limit=off,\
               rto.granularity=200ms,nagle=off",
    },
];
