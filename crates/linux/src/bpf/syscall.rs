//! The system call `bpf(2)`: what of it is needed here, with lengths and lifetimes checked.

use nix::errno::Errno;
use nix::libc;
use std::os::fd::AsFd;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const MAP_DELETE_ELEM: libc::c_long = 3;
const MAP_GET_NEXT_KEY: libc::c_long = 4;
const PROG_LOAD: libc::c_long = 5;
const PROG_TEST_RUN: libc::c_long = 10;
const MAP_LOOKUP_BATCH: libc::c_long = 24;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LINK_CREATE: libc::c_long = 28;
const PROG_TYPE_SCHED_CLS: u32 = 3;

/// A name of the kernel's, which ends with a zero.
type Name = [u8; 16];

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    map_name: Name,
}

#[repr(C)]
#[derive(Default)]
struct Element {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct Batch {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: Name,
    prog_ifindex: u32,
    expected_attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
    relative_fd: u32,
    padding: u32,
    expected_revision: u64,
}

#[repr(C)]
#[derive(Default)]
struct InfoByFd {
    bpf_fd: u32,
    info_len: u32,
    info: u64,
}

/// `struct bpf_link_info` of a link to a device's packets.
#[repr(C)]
#[derive(Default)]
struct TcxInfo {
    link_type: u32,
    id: u32,
    prog_id: u32,
    padding: u32,
    ifindex: u32,
    attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct ProgTestRun {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
}

/// Calls the kernel.
///
/// # Safety
/// `Attributes` must be the beginning of what `command` reads and writes, with zeros after it in
/// the kernel's own eyes, and what its pointers point to must be as long as its lengths say, and
/// alive and not otherwise used until the call returns.
#[allow(unsafe_code)]
unsafe fn bpf<Attributes>(
    command: libc::c_long,
    attributes: &mut Attributes,
) -> Result<libc::c_int, Errno> {
    // SAFETY: the attributes live until the call returns, and the kernel is told their length; the
    // rest is the caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            size_of::<Attributes>() as libc::c_ulong,
        )
    };
    Errno::result(result).map(|result| result as libc::c_int)
}

/// A descriptor that the kernel has just made.
#[allow(unsafe_code)]
fn owned(descriptor: libc::c_int) -> OwnedFd {
    // SAFETY: the kernel has returned it to us alone, and it is open.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn number(descriptor: BorrowedFd<'_>) -> u32 {
    descriptor.as_raw_fd() as u32
}

fn name(text: &str) -> Name {
    let mut name = Name::default();
    let room = name.len() - 1;
    name.iter_mut().take(room).zip(text.bytes()).for_each(|(to, from)| *to = from);
    name
}

/// Makes a map of this type (`enum bpf_map_type`).
#[allow(unsafe_code)]
pub(super) fn create_map(
    map_type: u32,
    title: &str,
    [key_size, value_size]: [usize; 2],
    max_entries: u32,
    map_flags: u32,
) -> Result<OwnedFd, Errno> {
    let mut attributes = MapCreate {
        map_type,
        key_size: key_size as u32,
        value_size: value_size as u32,
        max_entries,
        map_flags,
        map_name: name(title),
        ..MapCreate::default()
    };
    // SAFETY: these are the attributes of the command, without pointers.
    unsafe { bpf(MAP_CREATE, &mut attributes) }.map(owned)
}

/// Reads the value of `key`, whose lengths must be those that the map was made with. False if there
/// is none.
#[allow(unsafe_code)]
pub(super) fn lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> Result<bool, Errno> {
    let mut attributes = Element {
        map_fd: number(map),
        key: key.as_ptr() as u64,
        value: value.as_mut_ptr() as u64,
        ..Element::default()
    };
    // SAFETY: key and value are as long as the map's, and live until the call returns.
    match unsafe { bpf(MAP_LOOKUP_ELEM, &mut attributes) } {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Sets the value of `key`, whose lengths must be those that the map was made with.
#[allow(unsafe_code)]
pub(super) fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno> {
    let mut attributes = Element {
        map_fd: number(map),
        key: key.as_ptr() as u64,
        value: value.as_ptr() as u64,
        ..Element::default()
    };
    // SAFETY: key and value are as long as the map's, and live until the call returns, which only
    // reads them.
    unsafe { bpf(MAP_UPDATE_ELEM, &mut attributes) }.map(|_| ())
}

/// Removes `key`, whose length must be that which the map was made with. False if it was not there.
#[allow(unsafe_code)]
pub(super) fn delete(map: BorrowedFd<'_>, key: &[u8]) -> Result<bool, Errno> {
    let mut attributes =
        Element { map_fd: number(map), key: key.as_ptr() as u64, ..Element::default() };
    // SAFETY: the key is as long as the map's, and lives until the call returns.
    match unsafe { bpf(MAP_DELETE_ELEM, &mut attributes) } {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Writes the key behind `key` into `next`, or the first if there is none or it is gone; both must
/// be as long as the map was made with. False at the end.
#[allow(unsafe_code)]
pub(super) fn next_key(
    map: BorrowedFd<'_>,
    key: Option<&[u8]>,
    next: &mut [u8],
) -> Result<bool, Errno> {
    let mut attributes = Element {
        map_fd: number(map),
        key: key.map_or(0, |key| key.as_ptr() as u64),
        value: next.as_mut_ptr() as u64,
        ..Element::default()
    };
    // SAFETY: both keys are as long as the map's, and live until the call returns; none is a null
    // pointer.
    match unsafe { bpf(MAP_GET_NEXT_KEY, &mut attributes) } {
        Ok(_) => Ok(true),
        Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// How far a reading of a map has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchPosition(Option<u64>);

/// Reads entries of a hash from a position on, as many as there is room for: their number, and
/// where the next ones begin; none at the end (Linux 5.6).
///
/// `keys` and `values` have room for equally many of the lengths that the map was made with, of
/// which `sizes` are. A bucket of the map is read as a whole, or the kernel says ENOSPC.
#[allow(unsafe_code)]
pub(super) fn lookup_batch(
    map: BorrowedFd<'_>,
    from: BatchPosition,
    keys: &mut [u8],
    values: &mut [u8],
    sizes: [usize; 2],
) -> Result<(usize, Option<BatchPosition>), Errno> {
    // The kernel writes the number of a bucket, of four bytes.
    let (before, mut behind) = (from.0, 0_u64);
    let room = (keys.len() / sizes[0]).min(values.len() / sizes[1]);
    let mut attributes = Batch {
        in_batch: before.as_ref().map_or(0, |before| std::ptr::from_ref(before) as u64),
        out_batch: std::ptr::from_mut(&mut behind) as u64,
        keys: keys.as_mut_ptr() as u64,
        values: values.as_mut_ptr() as u64,
        count: room as u32,
        map_fd: number(map),
        ..Batch::default()
    };
    // SAFETY: keys and values have room for the count that the attributes say, both positions are
    // longer than a bucket's number, and all live until the call returns.
    let outcome = unsafe { bpf(MAP_LOOKUP_BATCH, &mut attributes) };
    let read = (attributes.count as usize).min(room);
    match outcome {
        Ok(_) => Ok((read, Some(BatchPosition(Some(behind))))),
        Err(Errno::ENOENT) => Ok((read, None)),
        Err(errno) => Err(errno),
    }
}

/// Loads a program for the packets of a device, which calls functions of the kernel's that need no
/// license.
///
/// # Errors
/// What the kernel said; its verifier's last words are in `log`.
#[allow(unsafe_code)]
pub(super) fn load(title: &str, code: &[u64], log: &mut [u8]) -> Result<OwnedFd, Errno> {
    let license = c"MIT OR Apache-2.0";
    let mut attributes = ProgLoad {
        prog_type: PROG_TYPE_SCHED_CLS,
        insn_cnt: code.len() as u32,
        insns: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log_buf: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        prog_name: name(title),
        ..ProgLoad::default()
    };
    // SAFETY: code and log are as long as the attributes say, the license ends with a zero, and all
    // live until the call returns.
    unsafe { bpf(PROG_LOAD, &mut attributes) }.map(owned)
}

/// Attaches a program to a device for as long as what is returned is open (Linux 6.6).
#[allow(unsafe_code)]
pub(super) fn link(
    program: BorrowedFd<'_>,
    device: u32,
    attach_type: u32,
    flags: u32,
) -> Result<OwnedFd, Errno> {
    let mut attributes = LinkCreate {
        prog_fd: number(program),
        target_ifindex: device,
        attach_type,
        flags,
        ..LinkCreate::default()
    };
    // SAFETY: these are the attributes of the command, without pointers.
    unsafe { bpf(LINK_CREATE, &mut attributes) }.map(owned)
}

/// The number of the device of a link, zero if it is on none any more.
#[allow(unsafe_code)]
pub(super) fn device_of(link: BorrowedFd<'_>) -> Result<u32, Errno> {
    let mut info = TcxInfo::default();
    let mut attributes = InfoByFd {
        bpf_fd: number(link),
        info_len: size_of::<TcxInfo>() as u32,
        info: std::ptr::from_mut(&mut info) as u64,
    };
    // SAFETY: the information has the length that the attributes say, is made of integers that may
    // be anything, and lives until the call returns.
    unsafe { bpf(OBJ_GET_INFO_BY_FD, &mut attributes) }?;
    Ok(info.ifindex)
}

/// Runs a program so many times on `packet`, as on one that has come; its result, the packet that
/// it leaves, and how long once took.
#[allow(unsafe_code)]
pub(super) fn test_run(
    program: &impl AsFd,
    packet: &[u8],
    context: &mut [u8],
    times: u32,
) -> Result<(u32, Vec<u8>, Duration), Errno> {
    let mut out = vec![0; packet.len() + 256];
    let length = context.len() as u32;
    let mut attributes = ProgTestRun {
        prog_fd: number(program.as_fd()),
        data_size_in: packet.len() as u32,
        data_size_out: out.len() as u32,
        data_in: packet.as_ptr() as u64,
        data_out: out.as_mut_ptr() as u64,
        repeat: times,
        ctx_size_in: length,
        ctx_size_out: length,
        ctx_in: context.as_ptr() as u64,
        ctx_out: context.as_mut_ptr() as u64,
        ..ProgTestRun::default()
    };
    // SAFETY: packet, room for it and context are as long as the attributes say, and live until the
    // call returns. The kernel has read the context before it writes it.
    unsafe { bpf(PROG_TEST_RUN, &mut attributes) }?;
    out.truncate(attributes.data_size_out as usize);
    Ok((attributes.retval, out, Duration::from_nanos(attributes.duration.into())))
}
