//! Receive packet steering (`scaling.rst` of Linux): which processors take what arrives on an
//! interface.
//!
//! A TUN device receives within the write: routing, programs, the way out. A thread that writes
//! much has no time left to read. With steering the kernel hands each flow's packets to one of
//! several processors, in their order. The thread's own is none of them while it is busy.

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processors by their numbers.
type Processors = BTreeSet<usize>;

/// Spreads what arrives on an interface over the processors that this thread may use. An operator's
/// own choice stays. With one processor nothing is done.
///
/// # Errors
/// The system's: only root may, and a kernel may have no such thing (`CONFIG_RPS`).
pub fn spread(interface: &str) -> io::Result<()> {
    let usable = usable()?;
    let file = file_of(interface);
    if usable.len() < 2 || !mask(&file)?.is_empty() {
        return Ok(());
    }
    set_mask(&file, &usable)
}

/// Keeps what arrives on interfaces off the processor of a thread that writes there.
///
/// It follows a busy thread to wherever the scheduler puts it. Each long packet that such a thread
/// receives for the kernel is one that it does not read. Short ones cost more to hand over than to
/// receive: all processors take them.
#[derive(Debug, Default)]
pub struct Steering {
    /// The last look.
    last: Option<Look>,
    /// The mask that was set here, if any.
    own: Option<Processors>,
}

/// Packets that a thread has written into its interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Their number; a packet that is cut later is one.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What was seen of a thread.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    written: Written,
    /// Processor time that it had taken.
    used: Duration,
    /// The processor that it was on.
    on: usize,
}

impl Steering {
    /// From one look to the next.
    pub const EVERY: Duration = Duration::from_millis(500);

    /// Packets with so many bytes on average are long.
    const LONG: u64 = 8 << 10;

    /// Looks at the calling thread, and steers by it where that is allowed.
    ///
    /// The thread has `written` so much. Masks that neither this nor [`spread`] has set are an
    /// operator's own, and stay.
    pub fn follow(&mut self, interfaces: [&str; 2], written: Written) {
        // Where the kernel does not say, nothing is steered.
        let Ok(look) = Look::now(written) else { return };
        let Some(last) = self.last.replace(look) else { return };
        let (true, Ok(all)) = (look.is_busy_since(&last), usable()) else { return };
        let busy = look.has_written_long_since(&last).then_some(look.on);
        // Without it all is as right, and slower.
        let _ = self.keep_off(busy, &all, interfaces.map(file_of));
    }

    /// Lets `all` but the busy one receive, if there is one.
    fn keep_off(
        &mut self,
        busy: Option<usize>,
        all: &Processors,
        files: [PathBuf; 2],
    ) -> io::Result<()> {
        let others: Processors = all.iter().copied().filter(|cpu| Some(*cpu) != busy).collect();
        if others.is_empty() {
            return Ok(());
        }
        // What is set is known as its own even if the other device is gone.
        let before = self.own.replace(others.clone());
        for file in files {
            let mask = mask(&file)?;
            // The device may have been given to more processors than this thread may use.
            let to_all = mask.is_superset(all);
            if mask != others && (to_all || Some(&mask) == before.as_ref()) {
                set_mask(&file, &others)?;
            }
        }
        Ok(())
    }
}

impl Look {
    fn now(written: Written) -> nix::Result<Look> {
        let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into();
        Ok(Look { at: Instant::now(), written, used, on: sched_getcpu()? })
    }

    fn has_written_long_since(&self, earlier: &Look) -> bool {
        let packets = self.written.packets - earlier.written.packets;
        self.written.bytes - earlier.written.bytes >= packets * Steering::LONG
    }

    /// It has used more than half of the time between, and is where it was.
    fn is_busy_since(&self, earlier: &Look) -> bool {
        let used = self.used.saturating_sub(earlier.used);
        self.on == earlier.on && used * 2 > self.at.saturating_duration_since(earlier.at)
    }
}

/// The processors that this thread may use.
fn usable() -> io::Result<Processors> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect())
}

/// The processors to which an interface hands packets that arrive; none where each stays on its
/// own.
fn mask(file: &Path) -> io::Result<Processors> {
    Ok(parse(&fs::read_to_string(file)?))
}

fn set_mask(file: &Path, processors: &Processors) -> io::Result<()> {
    fs::write(file, text_of(processors))
}

fn file_of(interface: &str) -> PathBuf {
    ["/sys/class/net", interface, "queues/rx-0/rps_cpus"].iter().collect()
}

/// Processors as the kernel reads them: groups of 32 bits with commas between, the highest first.
fn text_of(processors: &Processors) -> String {
    let groups = processors.last().map_or(1, |last| last / 32 + 1);
    let group = |number: usize| {
        let of_group = processors.iter().filter(|processor| *processor / 32 == number);
        of_group.fold(0_u32, |bits, processor| bits | 1 << (processor % 32))
    };
    let texts: Vec<String> = (0..groups).rev().map(|it| format!("{:x}", group(it))).collect();
    texts.join(",")
}

/// Processors as the kernel writes them: the same, with zeros in front.
fn parse(text: &str) -> Processors {
    let groups = text.trim().rsplit(',').enumerate();
    let groups = groups.filter_map(|(i, group)| Some((i, u32::from_str_radix(group, 16).ok()?)));
    let processors = |(i, bits): (usize, u32)| {
        (0..32).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| i * 32 + bit)
    };
    groups.flat_map(processors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_processor() {
        for (processors, text) in [
            (&[0, 1][..], "3"),
            (&[4, 5, 31], "80000030"),
            (&[0, 32], "1,1"),
            (&[65], "2,0,0"),
            (&[], "0"),
        ] {
            let processors = processors.iter().copied().collect();
            assert_eq!(text_of(&processors), text);
            assert_eq!(parse(text), processors);
        }
        assert_eq!(parse("0000,00000003\n"), [0, 1].into());
    }

    #[test]
    fn a_thread_is_busy_that_uses_more_than_half_of_a_processor() {
        let from = Instant::now();
        let look = |at, used, on| Look {
            at: from + Duration::from_millis(at),
            written: Written::default(),
            used: Duration::from_millis(used),
            on,
        };
        assert!(look(500, 251, 1).is_busy_since(&look(0, 0, 1)));
        assert!(!look(500, 250, 1).is_busy_since(&look(0, 0, 1)));
        assert!(!look(500, 500, 1).is_busy_since(&look(0, 0, 0)), "it was elsewhere");
    }

    #[test]
    fn packets_are_long_by_their_average() {
        let look = |packets, bytes| Look::now(Written { packets, bytes }).unwrap();
        assert!(look(12, 100 + 16 * 1024).has_written_long_since(&look(10, 100)));
        assert!(!look(12, 99 + 16 * 1024).has_written_long_since(&look(10, 100)));
    }

    #[test]
    fn what_arrives_is_kept_off_the_busy_processor_but_by_an_operators_own_mask() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let all = Processors::from([0, 1, 2]);
        let mut steering = Steering::default();
        let mut after = |busy, before: [Option<&str>; 2]| {
            for (file, text) in [&first, &second].into_iter().zip(before) {
                if let Some(text) = text {
                    fs::write(file, text).unwrap();
                }
            }
            steering.keep_off(busy, &all, [first.clone(), second.clone()]).unwrap();
            [&first, &second].map(|file| fs::read_to_string(file).unwrap())
        };
        assert_eq!(after(Some(0), [Some("7\n"), Some("00000007\n")]), ["6", "6"]);
        assert_eq!(after(Some(2), [None, None]), ["3", "3"], "the thread was moved");
        assert_eq!(after(Some(2), [Some("7\n"), None]), ["3", "3"], "a device was made again");
        assert_eq!(after(None, [None, None]), ["7", "7"], "its packets are short now");
        assert_eq!(
            after(Some(1), [Some("f\n"), Some("1,00000007\n")]),
            ["5", "5"],
            "to all, and more"
        );
        let own = [Some("1\n"), Some("0\n")];
        assert_eq!(after(Some(1), own), ["1\n", "0\n"], "an operator's own");
    }

    #[test]
    fn a_mask_is_followed_up_though_the_other_device_was_gone() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let all = Processors::from([0, 1, 2]);
        let mut steering = Steering::default();
        fs::write(&first, "7").unwrap();
        assert!(steering.keep_off(Some(0), &all, [first.clone(), second.clone()]).is_err());
        fs::write(&second, "7").unwrap();
        steering.keep_off(Some(2), &all, [first.clone(), second.clone()]).unwrap();
        assert_eq!([first, second].map(|file| fs::read_to_string(file).unwrap()), ["3", "3"]);
    }

    #[test]
    fn the_only_processor_there_is_receives_all() {
        let mut steering = Steering::default();
        let none = ["no-such-0", "no-such-1"].map(file_of);
        assert!(steering.keep_off(Some(0), &[0].into(), none.clone()).is_ok());
        assert!(steering.keep_off(Some(0), &[0, 1].into(), none).is_err());
    }
}
