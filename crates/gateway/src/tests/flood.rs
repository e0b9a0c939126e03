//! A flood of SYNs that nobody answers, and honest clients in it.

use super::*;
use std::collections::VecDeque;

/// A handshake over a geostationary satellite.
const ROUND_TRIP: Duration = Duration::from_millis(600);

/// A SYN of `client`.
fn syn_of(client: IpAddr, port: u16, options: &TcpOptions) -> (IpHeader, TcpHeader) {
    let ip = IpHeader { src: client, ..Table::ip(Side::Lan) };
    let options = options.clone();
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    (ip, TcpHeader { src_port: port, options, ..syn })
}

/// Forged SYNs.
struct Flood {
    per_second: u32,
    seconds: u32,
    /// So many different ones, which then come again.
    names: u32,
    options: TcpOptions,
}

impl Flood {
    /// What share of honest clients, ten a second, is split in the second half of the flood.
    fn share_split(&self, config: Config) -> f64 {
        let mut table = Table::new(config);
        table.options = Table::stamped();
        table.options.window_scale = Some(7);
        table.options.sack_permitted = true;
        let honest = IpAddr::from([10, 0, 0, 1]);
        let (count, every) = (self.per_second * self.seconds, self.per_second / 10);
        let mut answers = VecDeque::new();
        let (mut split, mut asked) = (0, 0);
        for number in 0..count {
            table.now = Instant::ZERO
                + Duration::from_secs(1).mul_f64(f64::from(number) / f64::from(self.per_second));
            table.gateway.handle_timeout(table.now);
            while let Some(&(due, port)) = answers.front()
                && due <= table.now
            {
                answers.pop_front();
                split += u32::from(table.is_answered(port));
            }
            // No two alike (Knuth's multiplicative hash), as from anywhere.
            let client =
                IpAddr::from((number % self.names).wrapping_mul(2_654_435_761).to_be_bytes());
            let (ip, tcp) = syn_of(client, 7, &self.options);
            table.give(Side::Lan, &ip, &tcp, b"");
            // One in each tenth of a second, at some moment of it.
            let turn = number / every;
            if number % every == turn.wrapping_mul(2_654_435_761) % every {
                let port = 1000 + turn as u16;
                let (ip, tcp) = syn_of(honest, port, &table.options.clone());
                table.give(Side::Lan, &ip, &tcp, b"");
                if number >= count / 2 {
                    asked += 1;
                    answers.push_back((table.now + ROUND_TRIP, port));
                }
            }
        }
        // The last ones are still waiting.
        f64::from(split) / f64::from(asked - answers.len() as u32)
    }
}

impl Table {
    /// The SYN-ACK to the honest client's `port`. Whether that opens a flow, which is gone again.
    fn is_answered(&mut self, port: u16) -> bool {
        let synack = Self::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        let options = self.options.clone();
        self.send(Side::Satellite, TcpHeader { dst_port: port, options, ..synack }, b"");
        let opens = self.gateway.flows() > self.gateway.half_open();
        let refusal = Self::segment(Side::Lan, 1, 1, Flags::RST);
        self.send(Side::Lan, TcpHeader { src_port: port, ..refusal }, b"");
        assert_eq!(self.gateway.flows(), self.gateway.half_open());
        opens
    }
}

/// RFC 4987: a flood takes no more from the others than it must.
#[test]
fn honest_clients_are_split_in_a_flood_of_syns() {
    let all = TcpOptions { window_scale: Some(7), sack_permitted: true, ..Table::stamped() };
    let bare = TcpOptions::default();
    for (per_second, seconds, names, options, min) in [
        (60, 200, u32::MAX, &all, 1.0),
        (1_000, 20, u32::MAX, &all, 1.0),
        (10_000, 10, u32::MAX, &all, 0.35),
        // We have added options to what is half of the table.
        (60, 200, u32::MAX, &bare, 1.0),
        (1_000, 20, u32::MAX, &bare, 1.0),
        (10_000, 10, u32::MAX, &bare, 0.15),
        // It comes again and again.
        (1_000, 20, 2048, &all, 1.0),
        (10_000, 10, 5000, &all, 0.35),
    ] {
        let flood = Flood { per_second, seconds, names, options: options.clone() };
        let config = Config { add_options: AddOptions::Always, ..Config::default() };
        let share = flood.share_split(config);
        println!("{per_second} SYN/s, {names} names, {options:?}: {share:.3} are split");
        assert!(share >= min, "{per_second} SYN/s of {names}: {share} are split");
    }
}
