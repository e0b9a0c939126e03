//! Options of sockets that have no safe name elsewhere: by number, as plain numbers or bytes.

use nix::libc;
use socket2::Socket;
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

/// Sets an option for which there is no safe name.
///
/// # Errors
/// What the kernel says.
#[expect(unsafe_code, reason = "neither nix nor socket2 has these options")]
pub fn set<T: Copy>(socket: &Socket, level: i32, name: i32, value: T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the descriptor is open as long as `socket` is borrowed, and `value` is a plain number
    // that lives until the call returns, of the length that is said.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option of TCP into `buffer`, and says how many bytes it has; none if the kernel refuses
/// it.
#[expect(
    unsafe_code,
    reason = "neither nix nor socket2 has these options, and libc's tcp_info ends before the fields that we need"
)]
pub fn read_tcp(socket: &Socket, name: i32, buffer: &mut [u8]) -> usize {
    let mut length = libc::socklen_t::try_from(buffer.len()).unwrap_or(0);
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel writes at most
    // `length` bytes to the buffer, which has so many, and says how many it has written.
    let result = unsafe {
        let to = buffer.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, name, to, &raw mut length)
    };
    if result == 0 { usize::try_from(length).unwrap_or(0).min(buffer.len()) } else { 0 }
}
