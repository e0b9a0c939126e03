//! A TCP header's options as far as they were captured.

use crate::connection::Sack;
use bentpipe_core::wire::TcpOptions;

const END: u8 = 0;
const NOP: u8 = 1;
const SACK: u8 = 5;
/// Of an option: its kind and its length.
const HEAD: usize = 2;
/// Of a block of a SACK.
const BLOCK: usize = 8;

/// A segment's options by meaning.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sacks: Vec<Sack>,
    /// Set if some may be missing.
    pub(crate) cut: bool,
}

/// Reads options of `len` bytes. Of those that contradict themselves nothing is known.
#[inline]
pub(crate) fn read(captured: &[u8], len: usize) -> Options {
    match captured.get(..len) {
        Some([]) => Options::default(),
        Some(whole) => known(whole),
        None => read_cut(captured),
    }
}

fn known(bytes: &[u8]) -> Options {
    match &TcpOptions::parse(bytes) {
        Err(_) => Options::default(),
        Ok(options) => Options {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.map(|it| (it.value, it.echo)),
            sacks: options
                .sack
                .iter()
                .map(|it| Sack { left: it.left.0, right: it.right.0 })
                .collect(),
            cut: false,
        },
    }
}

/// Those that stand whole before the cut; of a SACK its whole blocks.
fn read_cut(captured: &[u8]) -> Options {
    let mut at = 0;
    let mut cut = true;
    let mut blocks: &[u8] = &[];
    loop {
        at += match captured[at..] {
            [END, ..] => {
                cut = false;
                break;
            }
            [NOP, ..] => 1,
            [_, len, ..] if (HEAD..=captured.len() - at).contains(&usize::from(len)) => {
                usize::from(len)
            }
            [SACK, len, ref body @ ..] => {
                let count = (body.len() / BLOCK).min(usize::from(len).saturating_sub(HEAD) / BLOCK);
                blocks = &body[..count * BLOCK];
                break;
            }
            _ => break,
        };
    }
    let mut whole = captured[..at].to_vec();
    if !blocks.is_empty() {
        whole.extend([SACK, (HEAD + blocks.len()) as u8]);
        whole.extend(blocks);
    }
    Options { cut, ..known(&whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NOP, NOP, timestamps, NOP, NOP, SACK of three blocks: as Linux sends them, but for the third
    /// block.
    fn options() -> Vec<u8> {
        let mut bytes = vec![1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 1, 5, 26];
        (1..=6_u32).for_each(|edge| bytes.extend((edge * 1000).to_be_bytes()));
        bytes
    }

    #[test]
    fn what_stands_whole_before_the_cut_is_used() {
        let bytes = options();
        let seen = |captured: usize| {
            let options = read(&bytes[..captured], bytes.len());
            (options.timestamps.is_some(), options.sacks.len(), options.cut)
        };
        assert_eq!(seen(40), (true, 3, false));
        assert_eq!([39, 32, 31, 24].map(seen).map(|it| it.1), [2, 2, 1, 1]);
        assert_eq!([23, 14, 12].map(seen), [(true, 0, true); 3]);
        assert_eq!([11, 2, 0].map(seen), [(false, 0, true); 3]);
    }

    #[test]
    fn behind_the_end_nothing_is_missing() {
        let options = read(&[3, 3, 7, 0], 8);
        assert_eq!((options.window_scale, options.cut), (Some(7), false));
        assert!(read(&[2, 4, 5], 8).cut);
        assert!(read(&[2, 0, 5], 8).cut, "a length that cannot be");
    }
}
