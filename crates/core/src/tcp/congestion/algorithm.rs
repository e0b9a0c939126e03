//! Congestion control by name. A new algorithm is one file beside this one and one entry here,
//! which gives it its variant, its name, its parameters and their text, how it begins, and how it
//! is restored.

mod registry;

use super::*;
use crate::time::Duration;
use crate::units::Rate;
use registry::controls;

pub use registry::{ControlEntry, ControlParameter};

/// Of a link of which nothing else is said.
const LINK_RATE: Rate = Rate::from_bits_per_sec(8_000_000);

/// The papers' Vegas.
const VEGAS: Band = Band::ONE_THREE;

// An entry is: what it is; its name and variant, with the parameters that may be set (name,
// variable, type, usual value, and what it must be besides, in Rust and in words); the type that
// does the work; how that begins with segments of `smss` bytes.
controls! {
    /// Slow start, increase by one segment a round trip, halving (RFC 5681).
    #[default]
    "standard" => Standard: Classic<Standard> =
        |slow_start, smss| Classic::new(slow_start, smss, Standard::default());

    /// As standard, but the increase is c·rtt² segments a round trip.
    "constant-rate" => ConstantRate {
        /// In segments per second squared.
        "c" c: f64 = 100.0;
    }: Classic<ConstantRate> =
        |slow_start, smss| Classic::new(slow_start, smss, ConstantRate::new(c));

    /// As standard, but the increase is K segments a round trip.
    "increase-by-k" => IncreaseByK {
        /// In segments.
        "k" k: f64 = 4.0;
        /// Only where the minimum round-trip time is above that; otherwise as standard.
        "above-rtt" above_rtt: Option<Duration> = None;
    }: Classic<IncreaseByK> =
        |slow_start, smss| Classic::new(slow_start, smss, IncreaseByK::new(k, above_rtt));

    /// Vegas: by round-trip times (Brakmo and Peterson 1995).
    "vegas" => Vegas {
        /// Below so many segments in the queue the window grows.
        "alpha" alpha: f64 = VEGAS.alpha;
        /// Above so many it shrinks.
        "beta" beta: f64 = VEGAS.beta.max(alpha), |beta| *beta >= alpha,
            "a number above 0, not below alpha";
        /// Above so many slow start ends.
        "gamma" gamma: f64 = VEGAS.gamma;
        /// The part of its window that a loss takes: 0.25 in the paper for one that its finer timer
        /// finds.
        "decrease" decrease: f64 = VEGAS.decrease, |decrease| *decrease < 1.0,
            "a number above 0 and below 1";
    }: Vegas =
        |slow_start, smss| Vegas::new(slow_start, smss, Band { alpha, beta, gamma, decrease });

    /// Hybla: as fast as with a round-trip time of RTT₀.
    "hybla" => Hybla {
        /// 25 ms in the paper.
        "rtt0" rtt0: Duration = Duration::from_millis(25);
    }: Hybla = |slow_start, smss| Hybla::new(slow_start, smss, rtt0);

    /// CUBIC (RFC 9438).
    "cubic" => Cubic {
        /// Section 4.7: a connection that loses before its last W_max gives way to others.
        "fast-convergence" fast_convergence: bool = true;
        /// Section 4.3 as Linux has it, which is slower where CUBIC is to be as fast as Reno.
        "as-linux" as_linux: bool = false;
    }: Cubic = |slow_start, smss| Cubic::new(slow_start, smss, fast_convergence).as_linux(as_linux);

    /// CUBIC that tells a congested path from a lossy one.
    "tolerant-cubic" => TolerantCubic: TolerantCubic = TolerantCubic::new;

    /// What fills a link of this rate, whatever is lost.
    "known-link" => KnownLink {
        /// The link's rate, headers included.
        "rate" rate: Rate = LINK_RATE;
    }: KnownLink = |slow_start, smss| KnownLink::new(slow_start, smss, rate);

    /// No window at all, on a link whose flows take turns.
    "shared-link" => SharedLink: SharedLink = SharedLink::new;

    /// BBR version 1, as in Linux.
    "bbr1" => Bbr1: Bbr1 = Bbr1::new;

    /// BBR version 3 (draft-ietf-ccwg-bbr).
    "bbr" => Bbr: Bbr = Bbr::new;

    /// LeoCC: BBR version 1 with a new model after each reconfiguration (Lai et al. 2025).
    "leocc" => LeoCc {
        /// The first reconfiguration of the path, from the connection's beginning on; the others
        /// follow every 15 s. Off: silences tell them.
        "offset" offset: Option<Duration> = None;
        /// Round-trip times without a queue vary by so much: 5 to 20 ms in the authors' traces.
        "fluctuation" fluctuation: Duration = Duration::from_millis(10);
    }: Bbr1<LeoCc> = |slow_start, smss| LeoCc::new(slow_start, smss, offset, fluctuation);

    /// Copa: towards a rate of 1 / (δ d_q) by the queueing delay (Arun and Balakrishnan 2018).
    "copa" => Copa {
        /// δ while no flow fills the queue, which then holds 1.25 / δ segments on average.
        "delta" delta: f64 = 0.5;
    }: Copa = |slow_start, smss| Copa::new(slow_start, smss, delta);

    /// Westwood+: the threshold after a loss is what the path was measured to carry.
    "westwood" => Westwood: Westwood = Westwood::new;

    /// Scalable TCP: up and down by parts of the window.
    "scalable" => Scalable {
        /// Up, of what is acknowledged: 0.01 in the paper.
        "a" a: f64 = Scalable::A;
        /// Down: 1/8 in the paper.
        "b" b: f64 = Scalable::B, |b| *b < 1.0, "a number above 0 and below 1";
    }: Classic<Scalable> =
        |slow_start, smss| Classic::new(slow_start, smss, Scalable::new(a, b));

    /// HighSpeed TCP (RFC 3649).
    "highspeed" => HighSpeed: Classic<HighSpeed> =
        |slow_start, smss| Classic::new(slow_start, smss, HighSpeed::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for control in CongestionAlgorithm::ALL {
            let text = control.to_string();
            assert_eq!(text.parse(), Ok(control));
            // The name alone stands for the usual parameters.
            assert_eq!(text.split(':').next().unwrap().parse(), Ok(control));
        }
        let others = [
            CongestionAlgorithm::Cubic { fast_convergence: false, as_linux: true },
            CongestionAlgorithm::Hybla { rtt0: Duration::from_nanos(1_234_567) },
            CongestionAlgorithm::Vegas { alpha: 2.0, beta: 4.0, gamma: 1.5, decrease: 0.25 },
        ];
        for control in others {
            assert_eq!(control.to_string().parse(), Ok(control));
        }
        assert_eq!(
            "hybla:rtt0=25ms".parse(),
            Ok(CongestionAlgorithm::Hybla { rtt0: Duration::from_millis(25) })
        );
        let plain = CongestionAlgorithm::IncreaseByK { k: 2.5, above_rtt: None };
        assert_eq!("increase-by-k:k=2.5".parse(), Ok(plain));
        assert_eq!(plain.to_string(), "increase-by-k:k=2.5");
        let above_rtt = Some(Duration::from_millis(500));
        let far = CongestionAlgorithm::IncreaseByK { k: 4.0, above_rtt };
        assert_eq!("increase-by-k:above-rtt=500ms".parse(), Ok(far));
        assert_eq!(far.to_string().parse(), Ok(far));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| text.parse::<CongestionAlgorithm>().unwrap_err().to_string();
        assert!(message("quick").contains("`quick`") && message("quick").contains("increase-by-k"));
        assert!(message("standard:k=1").contains("`k`"));
        assert!(message("vegas:alpha=4,beta=2").contains("not below alpha"));
        assert!(message("scalable:b=2").contains("above 0 and below 1"));
        assert!(message("hybla:rtt0=0ms").contains("`0ms`"));
        assert!(message("increase-by-k:k=0").contains("`0`"));
        assert!(message("increase-by-k:k=nan").contains("`nan`"));
        assert!(message("increase-by-k:k").contains("`k`"));
        assert!(message("increase-by-k:k=1,k=2").contains("twice"));
    }
}
