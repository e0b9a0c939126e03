//! Devices of ours, set up so that this host says next to nothing there.

use crate::command::{CommandError, run};
use std::path::Path;

/// What a kernel with IPv6 has, even where no interface uses it. One that was started with
/// `ipv6.disable=1` has none.
const IPV6: &str = "/proc/sys/net/ipv6";

/// Sets the device up without addresses.
///
/// It takes packets of up to `mtu` bytes, and `queue` of them wait there.
///
/// # Errors
/// [`CommandError`].
pub fn set_up(device: &str, mtu: usize, queue: u32) -> Result<(), CommandError> {
    let has_ipv6 = Path::new(IPV6).exists();
    run("ip", &["-batch", "-"], &commands(device, mtu, queue, has_ipv6)).map(|_| ())
}

/// A kernel without IPv6 refuses what is said of its addresses, and the commands behind it are not
/// run then.
fn commands(device: &str, mtu: usize, queue: u32, has_ipv6: bool) -> String {
    let no_addresses = match has_ipv6 {
        true => format!("link set {device} addrgenmode none\n"),
        false => String::new(),
    };
    no_addresses + &format!("link set {device} mtu {mtu} txqueuelen {queue} up\n")
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn nothing_is_said_of_addresses_to_a_kernel_without_ipv6() {
        let up = "link set bp-lan mtu 65535 txqueuelen 4096 up\n";
        let of = |has_ipv6| commands("bp-lan", 65_535, 4096, has_ipv6);
        assert_eq!(of(false), up);
        assert_eq!(of(true), format!("link set bp-lan addrgenmode none\n{up}"));
    }
}
