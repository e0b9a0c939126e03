//! Programs as filters of a device's `clsact` queueing discipline (`tc-bpf(8)`), by rtnetlink:
//! Linux 4.5 and later.
//!
//! A filter outlives who has added it, so one of a predecessor is replaced. Its number says whether
//! `clsact` was made for it: then it goes with the last of them, whichever process that is.

use super::attach::Hook;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const ACK: u16 = libc::NLM_F_ACK as u16;
const CREATE: u16 = libc::NLM_F_CREATE as u16;
const EXCLUSIVE: u16 = libc::NLM_F_EXCL as u16;
const DUMP: u16 = libc::NLM_F_DUMP as u16;

const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const BPF_FD: u16 = 6;
const BPF_NAME: u16 = 7;
const BPF_FLAGS: u16 = 8;
/// What the program returns is what becomes of the packet.
const ACT_DIRECT: u32 = 1;

/// The parent of `clsact`, and its handle.
const CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;

/// Before all other filters, and for all protocols.
const PRIORITY: u32 = 1 << 16;
const ALL_PROTOCOLS: u32 = (libc::ETH_P_ALL as u16).to_be() as u32;

/// Of our filters within the priority, where `clsact` was there before: others take the first
/// numbers.
const HANDLES: u32 = 0x39e5_0000;
/// The same, where it was made for them.
const HANDLES_OF_MADE: u32 = 0x39e6_0000;
/// The filter's name has the other bits.
const NAME: u32 = 0xffff;

/// `struct nlmsghdr`, in bytes.
const HEADER: usize = 16;

/// A message to the kernel about traffic control.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16, device: u32, handle: u32, parent: u32, info: u32) -> Message {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((REQUEST | flags).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([0; 4]);
        for word in [device, handle, parent, info] {
            bytes.extend(word.to_ne_bytes());
        }
        Message(bytes)
    }

    fn attribute(mut self, kind: u16, value: &[u8]) -> Message {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Sends it; how many messages the kernel answers before it says that all is done, or what is
    /// wrong.
    fn exchange(self) -> Result<usize, Errno> {
        let mut told = 0;
        self.ask(|_| told += 1)?;
        Ok(told)
    }

    /// Sends it; `each` has the kernel's messages behind their headers.
    fn ask(mut self, mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
        let length = (self.0.len() as u32).to_ne_bytes();
        self.0[..4].copy_from_slice(&length);
        let socket: OwnedFd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        sendto(socket.as_raw_fd(), &self.0, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut buffer = vec![0; 1 << 15];
        loop {
            let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            let mut rest = &buffer[..length];
            while rest.len() >= HEADER {
                let word = |at: usize| -> [u8; 4] { rest[at..at + 4].try_into().expect("four") };
                let length = (u32::from_ne_bytes(word(0)) as usize).clamp(HEADER, rest.len());
                let kind = i32::from(u16::from_ne_bytes([rest[4], rest[5]]));
                match kind {
                    libc::NLMSG_DONE => return Ok(()),
                    libc::NLMSG_ERROR if length >= HEADER + 4 => {
                        return match -i32::from_ne_bytes(word(HEADER)) {
                            0 => Ok(()),
                            errno => Err(Errno::from_raw(errno)),
                        };
                    }
                    _ => each(&rest[HEADER..length]),
                }
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
            }
        }
    }
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

const HOOKS: [Hook; 2] = [Hook::Ingress, Hook::Egress];

fn parent(hook: Hook) -> u32 {
    match hook {
        Hook::Ingress => 0xffff_fff2,
        Hook::Egress => 0xffff_fff3,
    }
}

/// Whether the device has `clsact`, and not the `ingress` that has the same handle and one list for
/// both hooks.
fn has_clsact(device: u32) -> Result<bool, Errno> {
    has_discipline(device, b"clsact\0")
}

/// Whether the device has an `ingress` queueing discipline, beside which it has no `clsact`.
pub fn has_ingress(device: u32) -> Result<bool, Errno> {
    has_discipline(device, b"ingress\0")
}

fn has_discipline(device: u32, kind: &[u8]) -> Result<bool, Errno> {
    let mut found = false;
    Message::new(libc::RTM_GETQDISC, DUMP, 0, 0, 0, 0).ask(|message| {
        // `struct tcmsg`, and the kind first of all attributes.
        let word = |at: usize| message.get(at..at + 4).map(|it| it.try_into().expect("four"));
        let [of, parent] = [4, 12].map(|at| word(at).map(u32::from_ne_bytes));
        let is_such = message.get(24..).is_some_and(|found| found.starts_with(kind));
        found |= of == Some(device) && parent == Some(CLSACT) && is_such;
    })?;
    Ok(found)
}

/// A device's `clsact`. If it was made for filters of ours, it goes once this is dropped and it has
/// no filters. Linux drops what leaves by the device meanwhile, and all that waits there.
#[derive(Debug)]
struct Discipline {
    device: u32,
    made: bool,
}

impl Discipline {
    fn of(device: u32) -> Result<Discipline, Errno> {
        let (kind, flags) = (libc::RTM_NEWQDISC, ACK | CREATE | EXCLUSIVE);
        let discipline = Message::new(kind, flags, device, CLSACT_HANDLE, CLSACT, 0);
        let made = match discipline.attribute(KIND, &text("clsact")).exchange() {
            Ok(_) => true,
            Err(Errno::EEXIST) if has_clsact(device)? => was_made(device)?,
            Err(errno) => return Err(errno),
        };
        Ok(Discipline { device, made })
    }

    /// The number of the filter that a program of this name is: it takes the place of one of a
    /// predecessor, and of no other.
    fn handle(&self, name: &str) -> u32 {
        let add = |sum: u16, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
        let numbers = if self.made { HANDLES_OF_MADE } else { HANDLES };
        numbers | u32::from(name.bytes().fold(0, add))
    }

    fn is_used(&self) -> bool {
        HOOKS
            .into_iter()
            .any(|hook| filters(self.device, hook).exchange().map_or(true, |filters| filters > 0))
    }
}

/// Whether the `clsact` that the device has was made for a filter of ours.
fn was_made(device: u32) -> Result<bool, Errno> {
    let mut made = false;
    for hook in HOOKS {
        filters(device, hook).ask(|message| {
            let handle = message.get(8..12).map(|it| it.try_into().expect("four"));
            made |= handle.is_some_and(|it| u32::from_ne_bytes(it) & !NAME == HANDLES_OF_MADE);
        })?;
    }
    Ok(made)
}

fn filters(device: u32, hook: Hook) -> Message {
    Message::new(libc::RTM_GETTFILTER, DUMP, device, 0, parent(hook), 0)
}

impl Drop for Discipline {
    fn drop(&mut self) {
        // Somebody may have put an `ingress` in its place, which has the same handle.
        let is_there = has_clsact(self.device) == Ok(true);
        if self.made && is_there && !self.is_used() {
            let kind = libc::RTM_DELQDISC;
            Message::new(kind, ACK, self.device, CLSACT_HANDLE, CLSACT, 0).exchange().ok();
        }
    }
}

/// A program is attached until this is dropped.
#[derive(Debug)]
pub struct Filter {
    hook: Hook,
    handle: u32,
    discipline: Discipline,
}

impl Filter {
    /// Attaches a program of this name to the device of this number.
    pub(super) fn new(
        program: BorrowedFd<'_>,
        name: &str,
        device: u32,
        hook: Hook,
    ) -> Result<Filter, Errno> {
        let discipline = Discipline::of(device)?;
        let options = Message(Vec::new())
            .attribute(BPF_FD, &program.as_fd().as_raw_fd().to_ne_bytes())
            .attribute(BPF_NAME, &text(name))
            .attribute(BPF_FLAGS, &ACT_DIRECT.to_ne_bytes());
        let handle = discipline.handle(name);
        ours(libc::RTM_NEWTFILTER, ACK | CREATE, device, hook, handle)
            .attribute(OPTIONS, &options.0)
            .exchange()?;
        Ok(Filter { hook, handle, discipline })
    }

    /// Stays attached, until another process [attaches](Filter::new) one of this name.
    pub(super) fn stay(self) {
        mem::forget(self);
    }

    /// Whether the device still has it.
    pub(super) fn stands(&self) -> bool {
        let Filter { hook, handle, discipline } = self;
        ours(libc::RTM_GETTFILTER, ACK, discipline.device, *hook, *handle).exchange().is_ok()
    }
}

/// A message about our filter.
fn ours(kind: u16, flags: u16, device: u32, hook: Hook, handle: u32) -> Message {
    let info = PRIORITY | ALL_PROTOCOLS;
    let message = Message::new(kind, flags, device, handle, parent(hook), info);
    message.attribute(KIND, &text("bpf"))
}

impl Drop for Filter {
    fn drop(&mut self) {
        // If the device has gone, so have its filters.
        let Filter { hook, handle, discipline } = self;
        ours(libc::RTM_DELTFILTER, ACK, discipline.device, *hook, *handle).exchange().ok();
    }
}
