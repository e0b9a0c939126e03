//! `bentpipe trace record`: the delay and loss between two hosts, measured by UDP probes, as a trace.
//!
//! One host listens and sends each probe back; the other sends probes and writes the trace. A reply is as long as its
//! probe and nothing else is answered, not even a reply, so that a forged sender gains nothing and two listeners do not
//! talk to each other. The session's token is random: who does not see the probes cannot forge replies to them.

use super::Error;
use super::path::{span, step};
use bentpipe_core::time::Duration;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{ToSocketAddrs, UdpSocket};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Bytes of a probe, and of its reply.
const LENGTH: usize = 64;
const MAGIC: [u8; 4] = *b"BpTr";
const PROBE: u8 = 1;
const REPLY: u8 = 2;
/// Probes that a listener answers in a second, whoever sends them.
const ANSWERS: u32 = 5_000;
/// The most probes of a session, and how long replies to the last are waited for.
const PROBES: u64 = 10_000_000;
const PATIENCE: Duration = Duration::from_secs(2);

/// Measures the delay and loss between this host and another, and writes them as a trace.
///
/// The other host runs `bentpipe trace record --listen ADDRESS:PORT`. What is measured is the round trip: each way is
/// given half of its delay, and the loss that twice in a row makes what was found. With --one-way the delay is that from here
/// to there by the clocks of both hosts, which have to agree (as with PTP or GPS).
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  There:
    bentpipe trace record --listen 0.0.0.0:4747
  Here, and replayed:
    bentpipe trace record there.example:4747 --for 10min > there.csv
    bentpipe trace show there.csv
    bentpipe link --rate 50Mbit/s --both trace=there.csv -- curl -O http://example.org/file
")]
pub(crate) struct Arguments {
    /// Who listens
    #[arg(value_name = "HOST:PORT", required_unless_present = "listen")]
    host: Option<String>,
    /// Send back what comes to this address, until interrupted
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "host")]
    listen: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = span)]
    lasting: Duration,
    /// How often a probe is sent
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = step)]
    every: Duration,
    /// How often the trace has a line: with the median of the delays
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = step)]
    step: Duration,
    /// The delay from here to there, by both hosts' clocks
    #[arg(long)]
    one_way: bool,
}

/// Listens, or measures.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match (&arguments.listen, &arguments.host) {
        (Some(address), _) => listen(address)?,
        (None, Some(host)) => measure(arguments, host)?,
        (None, None) => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn listen(address: &str) -> Result<(), Error> {
    let socket = UdpSocket::bind(address)?;
    println!("bentpipe trace record: listening on {}", socket.local_addr()?);
    io::stdout().flush()?;
    let (mut second, mut answers) = (Instant::now(), 0);
    // A byte more: what is longer is no probe.
    let mut packet = [0; LENGTH + 1];
    loop {
        let (length, from) = match socket.recv_from(&mut packet) {
            Ok(received) => received,
            // An ICMP error about an earlier answer, or a signal.
            Err(_) => continue,
        };
        if second.elapsed().as_secs() > 0 {
            (second, answers) = (Instant::now(), 0);
        }
        let Some(reply) = reply_to(&packet[..length], wall_clock()) else { continue };
        if answers < ANSWERS {
            answers += 1;
            let _ = socket.send_to(&reply, from);
        }
    }
}

/// The reply to a packet, if it is a probe.
fn reply_to(packet: &[u8], now: u64) -> Option<[u8; LENGTH]> {
    let mut reply: [u8; LENGTH] = packet.try_into().ok()?;
    if reply[..4] != MAGIC || reply[4] != PROBE {
        return None;
    }
    reply[4] = REPLY;
    reply[40..48].copy_from_slice(&now.to_be_bytes());
    Some(reply)
}

fn probe(token: &[u8; 16], number: u64) -> [u8; LENGTH] {
    let mut probe = [0; LENGTH];
    probe[..4].copy_from_slice(&MAGIC);
    probe[4] = PROBE;
    probe[8..24].copy_from_slice(token);
    probe[24..32].copy_from_slice(&number.to_be_bytes());
    probe
}

/// The number of the probe to which this is the reply, and when it came there.
fn read_reply(packet: &[u8], token: &[u8; 16]) -> Option<(u64, u64)> {
    let sound = packet.len() == LENGTH && packet[..4] == MAGIC && packet[4] == REPLY;
    if !sound || packet[8..24] != *token {
        return None;
    }
    let number = |at: usize| packet[at..at + 8].try_into().ok().map(u64::from_be_bytes);
    Some((number(24)?, number(40)?))
}

fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// When a probe was sent, by both of this host's clocks, and the delay that was found.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    wall: u64,
    /// In nanoseconds; less than none if the clocks do not agree.
    delay: Option<i64>,
}

fn measure(arguments: &Arguments, host: &str) -> Result<(), Error> {
    let failed = |why: &str| Error::Format { place: host.to_owned(), why: why.to_owned() };
    let count = ratio(arguments.lasting, arguments.every).min(PROBES);
    let mut token = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut token)?;
    let address = host.to_socket_addrs()?.next().ok_or_else(|| failed("no address"))?;
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    // What is not from there is not received.
    socket.connect(address)?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;

    let every = arguments.every;
    let sent: Mutex<Vec<Sent>> = Mutex::default();
    let last = Instant::now() + every.mul_f64(count as f64) + PATIENCE;
    thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            for number in 0..count {
                let due = begin + every.mul_f64(number as f64);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let packet = probe(&token, number);
                lock(&sent).push(Sent { at: Instant::now(), wall: wall_clock(), delay: None });
                // What the kernel does not take is lost.
                let _ = socket.send(&packet);
            }
        });
        let (mut packet, mut missing) = ([0; LENGTH + 1], count);
        while missing > 0 && Instant::now() < last {
            // A timeout, or nobody listens there yet.
            let Ok(length) = socket.recv(&mut packet) else { continue };
            let now = Instant::now();
            let Some((number, there)) = read_reply(&packet[..length], &token) else { continue };
            let mut sent = lock(&sent);
            let sent = usize::try_from(number).ok().and_then(|number| sent.get_mut(number));
            if let Some(sent) = sent.filter(|sent| sent.delay.is_none()) {
                let nanos = |span: Duration| i64::try_from(span.as_nanos()).ok();
                sent.delay = match arguments.one_way {
                    true => Some(there.wrapping_sub(sent.wall).cast_signed()),
                    false => nanos((now - sent.at) / 2),
                };
                missing -= 1;
            }
        }
    });
    let sent = sent.into_inner().unwrap_or_else(PoisonError::into_inner);
    let found = sent.iter().filter_map(|sent| sent.delay);
    let Some(least) = found.min() else { return Err(failed("nobody answers")) };
    if least < 0 {
        return Err(failed("a probe came there before it was sent: the clocks do not agree"));
    }
    let per_line = ratio(arguments.step, arguments.every) as usize;
    write_trace(arguments, host, &sent, per_line)
}

/// How often `part` fits into `whole`, once at least.
fn ratio(whole: Duration, part: Duration) -> u64 {
    u64::try_from(whole.as_nanos() / part.as_nanos().max(1)).unwrap_or(u64::MAX).max(1)
}

fn lock(sent: &Mutex<Vec<Sent>>) -> MutexGuard<'_, Vec<Sent>> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_trace(
    arguments: &Arguments,
    host: &str,
    sent: &[Sent],
    per_line: usize,
) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    let delay = match arguments.one_way {
        true => "one way, by both hosts' clocks",
        false => "half of the round trip",
    };
    let every = arguments.every.as_secs_f64() * 1e3;
    writeln!(
        out,
        "# {} probes of {LENGTH} bytes to {host}, one in {every} ms; the delay is {delay}; the loss is each way's, if \
         both lose alike",
        sent.len()
    )?;
    writeln!(out, "time_ms,delay_ms,loss")?;
    // The first line has to have a delay.
    let mut last = sent.iter().find_map(|sent| sent.delay).unwrap_or(0);
    for (line, probes) in sent.chunks(per_line).enumerate() {
        let (delay, loss) = summary(probes);
        let cell = match delay {
            Some(delay) => delay,
            None if line == 0 => last,
            None => {
                writeln!(out, "{},,{loss:.6}", at(arguments, line, per_line))?;
                continue;
            }
        };
        last = cell;
        let delay = cell as f64 / 1e6;
        writeln!(out, "{},{delay:.6},{loss:.6}", at(arguments, line, per_line))?;
    }
    Ok(())
}

/// When a line begins, in milliseconds.
fn at(arguments: &Arguments, line: usize, per_line: usize) -> f64 {
    arguments.every.as_secs_f64() * 1e3 * (line * per_line) as f64
}

/// The median delay of these probes, if any came back, and the loss of each way by which as many did not.
fn summary(probes: &[Sent]) -> (Option<i64>, f64) {
    let mut delays: Vec<i64> = probes.iter().filter_map(|probe| probe.delay).collect();
    delays.sort_unstable();
    let arrived = delays.len() as f64 / probes.len().max(1) as f64;
    (delays.get(delays.len() / 2).copied(), 1.0 - arrived.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_probes_are_answered_and_with_no_byte_more() {
        let token = [7; 16];
        let sent = probe(&token, 3);
        let reply = reply_to(&sent, 99).unwrap();
        assert_eq!((reply.len(), read_reply(&reply, &token)), (sent.len(), Some((3, 99))));
        assert_eq!(read_reply(&reply, &[8; 16]), None, "another session's");
        assert_eq!(reply_to(&reply, 100), None, "a reply");
        assert_eq!(read_reply(&sent, &token), None);
        let (long, mut other) = ([&sent[..], &[0]].concat(), sent);
        other[0] = b'x';
        for packet in [&long[..], &sent[..63], &other, &[]] {
            assert_eq!(reply_to(packet, 1), None);
            assert_eq!(read_reply(packet, &token), None);
        }
    }

    #[test]
    fn each_way_has_the_loss_that_makes_the_round_trips() {
        let (at, wall) = (Instant::now(), 0);
        let probes = [Some(5), None, Some(3), None, Some(9), None, None, Some(4)];
        let probes = probes.map(|delay| Sent { at, wall, delay });
        let (delay, loss) = summary(&probes);
        assert_eq!(delay, Some(5));
        assert!(((1.0 - loss) * (1.0 - loss) - 0.5).abs() < 1e-9);
        assert_eq!(summary(&[Sent { at, wall, delay: None }]), (None, 1.0));
    }
}
