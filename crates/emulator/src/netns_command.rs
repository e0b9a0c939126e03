//! A command in a network namespace of its own, whose only way out is a pair of TUN devices that
//! the caller carries packets between: the arrangement of mahimahi's shells.
//!
//! ```text
//! command ── namespace ── bp-inner ── we ── bp-outer-N ── this host ── (masquerade) ── its network
//! ```
//!
//! The namespace has no name: it is gone with its last process. Addresses are 198.18.N.0/30 (the
//! range for tests of network devices, RFC 2544) and a unique local IPv6 prefix; N is the first
//! number that no other instance on this host has locked.

use crate::forwarding;
use bentpipe_linux::command::{CommandError, run};
use bentpipe_linux::instance::{Instance, InstanceError};
use bentpipe_linux::tun::{Offload, Tun, TunError};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus};
use std::thread;

/// Our nft tables begin so; the number follows.
const TABLE: &str = "bentpipe-enclosed-";
/// Instances at once.
const SLOTS: u8 = 64;

/// Why the command was not run. Nothing is left set up then.
#[derive(Debug, thiserror::Error)]
pub enum NetnsCommandError {
    /// Too many at once, or no lock to be had.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// No namespace.
    #[error("cannot create a network namespace: {0} (it takes root)")]
    Namespace(io::Error),
    /// A TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// `ip` or `nft`.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// This host could not be made to forward.
    #[error("cannot have this host forward: {0}")]
    Forwarding(io::Error),
    /// There is no command.
    #[error("no command to run")]
    Empty,
    /// The command could not be started, waited for, or watched.
    #[error("cannot run `{name}`: {source}")]
    Start {
        /// The command.
        name: String,
        /// Why not.
        source: io::Error,
    },
}

/// The running command and what has been set up for it. Dropping it ends the command (SIGTERM),
/// waits for that, and removes our nft table; the namespace goes with the command, the devices with
/// their descriptors.
#[derive(Debug)]
pub struct NetnsCommand {
    name: String,
    pid: Pid,
    waiter: Option<thread::JoinHandle<io::Result<ExitStatus>>>,
    ended: UnixStream,
    leftovers: Vec<String>,
    _masquerade: Masquerade,
    // Behind the lock of our number: who is the last one restores.
    _instance: Instance,
    _forwarding: Forwarding,
}

/// Whether this host is made to forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nat {
    /// It forwards or not, as it is set up.
    AsItIs,
    /// It forwards IPv4 and IPv6 until the last such command has ended.
    Enable,
}

impl NetnsCommand {
    /// Runs `command` (its name and arguments). Has this host forward for it if `nat` says so.
    /// Returns the devices: 0 towards the command, 1 towards this host's network. Longer packets
    /// than `mtu` get a router's answer from the kernel.
    ///
    /// # Errors
    /// [`NetnsCommandError`].
    pub fn start(
        command: &[String],
        mtu: Option<u32>,
        nat: Nat,
    ) -> Result<(NetnsCommand, [Tun; 2]), NetnsCommandError> {
        let (name, arguments) = command.split_first().ok_or(NetnsCommandError::Empty)?;
        let mut leftovers = remove_leftovers();
        if is_alone() && forwarding::restore() {
            leftovers.push("forwarding by this host".to_owned());
        }
        // In front of the lock of our number, which is let go first, whatever fails.
        let forwarded = Forwarding;
        let (instance, slot) = free_slot()?;
        let device = format!("bp-outer-{slot}");
        let outer = Tun::open(&device, Offload::TcpAndUdp)?;
        let mtu = mtu.unwrap_or(1500);
        let six =
            if_ipv6(mtu, || format!("address add fd62:656e:7470:{slot:x}::1/64 dev {device}\n"));
        let setting = format!(
            "link set dev {device} mtu {mtu} txqueuelen 5000\n\
             address add 198.18.{slot}.1/30 dev {device}\n\
             {six}\
             link set dev {device} up\n"
        );
        no_link_local(&device);
        run("ip", &["-batch", "-"], &setting)?;
        let masquerade = Masquerade { table: format!("{TABLE}{slot}") };
        run("nft", &["-f", "-"], &masquerade.rules(slot, &device))?;
        match nat {
            Nat::Enable => forwarding::enable().map_err(NetnsCommandError::Forwarding)?,
            Nat::AsItIs => warn_of_no_forwarding(slot),
        }

        let start = |source| NetnsCommandError::Start { name: name.clone(), source };
        // Whatever may fail does so before the command runs.
        let (ended, ending) = UnixStream::pair().map_err(start)?;
        // A thread moves into the new namespace and stays there; what it opens and starts belongs
        // to that namespace, and this process's other threads stay where they are.
        let inside = thread::scope(|scope| {
            let entered = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)
                    .map_err(|errno| NetnsCommandError::Namespace(errno.into()))?;
                let inner = Tun::open("bp-inner", Offload::TcpAndUdp)?;
                no_link_local("bp-inner");
                run("ip", &["-batch", "-"], &inner_setting(slot, mtu))?;
                // It has no other network: this is for a link within the link.
                for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                    let _ = fs::write(format!("/proc/sys/net/{switch}"), "1");
                }
                let child = Command::new(name).args(arguments).spawn().map_err(start)?;
                Ok::<_, NetnsCommandError>((inner, child))
            });
            entered.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let (inner, mut child) = inside?;
        let pid = Pid::from_raw(child.id().cast_signed());
        let waiter = thread::spawn(move || {
            let status = child.wait();
            drop(ending);
            status
        });
        let netns_command = NetnsCommand {
            name: name.clone(),
            pid,
            waiter: Some(waiter),
            ended,
            leftovers,
            _masquerade: masquerade,
            _instance: instance,
            _forwarding: forwarded,
        };
        Ok((netns_command, [inner, outer]))
    }

    /// What killed predecessors had left, which has been removed.
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }

    /// Readable once the command has ended.
    pub fn ended(&self) -> &UnixStream {
        &self.ended
    }

    /// Asks the command to end (SIGTERM).
    pub fn terminate(&self) {
        let running = self.waiter.as_ref().is_some_and(|waiter| !waiter.is_finished());
        if running {
            let _ = kill(self.pid, Signal::SIGTERM);
        }
    }

    /// Waits for the command's end and says how it ended.
    ///
    /// # Errors
    /// [`NetnsCommandError::Start`] if it cannot be waited for, or has been already.
    pub fn wait(&mut self) -> Result<ExitStatus, NetnsCommandError> {
        let joined = self.waiter.take().and_then(|waiter| waiter.join().ok());
        joined
            .unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
            .map_err(|source| NetnsCommandError::Start { name: self.name.clone(), source })
    }
}

impl Drop for NetnsCommand {
    fn drop(&mut self) {
        self.terminate();
        // One that was waited for has ended.
        let _ = self.wait();
    }
}

/// What was switched on is restored when this is dropped, unless another command still runs.
#[derive(Debug)]
struct Forwarding;

impl Drop for Forwarding {
    fn drop(&mut self) {
        if is_alone() {
            forwarding::restore();
        }
    }
}

fn warn_of_no_forwarding(slot: u8) {
    if fs::read_to_string("/proc/sys/net/ipv4/ip_forward").is_ok_and(|text| text.trim() == "0") {
        tracing::warn!(
            "this host does not forward, so the command reaches only this host (198.18.{slot}.1): give --nat, \
             or run `sysctl -w net.ipv4.ip_forward=1`"
        );
    }
}

/// Our nft table, removed when dropped.
#[derive(Debug)]
struct Masquerade {
    table: String,
}

impl Masquerade {
    fn rules(&self, slot: u8, device: &str) -> String {
        let table = &self.table;
        format!(
            "add table inet {table}\ndelete table inet {table}\ntable inet {table} {{\n\
             chain out {{\n\
             type nat hook postrouting priority srcnat; policy accept;\n\
             ip saddr 198.18.{slot}.0/30 oifname != \"{device}\" masquerade\n\
             ip6 saddr fd62:656e:7470:{slot:x}::/64 oifname != \"{device}\" masquerade\n\
             }}\n}}\n"
        )
    }
}

impl Drop for Masquerade {
    fn drop(&mut self) {
        let _ = run("nft", &["delete", "table", "inet", &self.table], "");
    }
}

/// Removes the nft tables of those that were killed: nobody has the lock of their number. The rest
/// is gone with its process; a command that still runs has no network any more.
fn remove_leftovers() -> Vec<String> {
    let tables = run("nft", &["list", "tables", "inet"], "").unwrap_or_default();
    let numbers =
        tables.split_whitespace().filter_map(|word| word.strip_prefix(TABLE)?.parse().ok());
    let mut removed = Vec::new();
    for slot in numbers {
        let Ok(_lock) = lock(slot) else { continue };
        let table = format!("{TABLE}{slot}");
        if run("nft", &["delete", "table", "inet", &table], "").is_ok() {
            removed.push(format!("nft table inet {table}"));
        }
    }
    removed
}

/// Whether no such command runs in this network namespace.
fn is_alone() -> bool {
    (0..SLOTS).all(|slot| lock(slot).is_ok())
}

/// Whether this host has an address of number `slot`: that of a link within which we are.
fn is_within(slot: u8) -> bool {
    [1, 2].into_iter().any(|host| UdpSocket::bind((Ipv4Addr::new(198, 18, slot, host), 0)).is_ok())
}

/// The right to be number `slot`.
fn lock(slot: u8) -> Result<Instance, InstanceError> {
    Instance::lock(&format!("bentpipe link {slot}"))
}

fn free_slot() -> Result<(Instance, u8), InstanceError> {
    let lock = |slot| match is_within(slot) {
        true => Err(InstanceError::Running(format!("bentpipe link {slot}"))),
        false => lock(slot).map(|lock| (lock, slot)),
    };
    let mut found = lock(0);
    for slot in 1..SLOTS {
        if !matches!(found, Err(InstanceError::Running(_))) {
            break;
        }
        found = lock(slot);
    }
    found
}

/// Keeps the kernel from soliciting routers over the link, as far as it lets us.
fn no_link_local(device: &str) {
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{device}/addr_gen_mode"), "1");
}

/// IPv6 needs links of 1280 bytes (RFC 8200, section 5): the kernel has none on shorter ones.
fn if_ipv6(mtu: u32, setting: impl Fn() -> String) -> String {
    if mtu >= 1280 { setting() } else { String::new() }
}

fn inner_setting(slot: u8, mtu: u32) -> String {
    let six = if_ipv6(mtu, || {
        format!(
            "address add fd62:656e:7470:{slot:x}::2/64 dev bp-inner\n\
             link set dev bp-inner up\n\
             route add ::/0 dev bp-inner\n"
        )
    });
    format!(
        "link set dev lo up\n\
         link set dev bp-inner mtu {mtu} txqueuelen 5000\n\
         address add 198.18.{slot}.2/30 dev bp-inner\n\
         link set dev bp-inner up\n\
         route add default via 198.18.{slot}.1\n\
         {six}"
    )
}
