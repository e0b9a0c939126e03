//! A map: what programs of the kernel's and we share, by keys and values of fixed lengths.

use super::syscall::BatchPosition;
use super::{BpfError, syscall};
use nix::errno::Errno;
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use std::fs;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

const HASH: u32 = 1;
const ARRAY: u32 = 2;
const PERCPU_ARRAY: u32 = 6;
const LRU_HASH: u32 = 9;
/// Room is taken as entries come, and not for all of them at once.
const NO_PREALLOC: u32 = 1;

/// No key or value is longer, in bytes.
const LONGEST: usize = 64;

/// Entries that are read by one call.
const BATCH: usize = 4096;

/// What is a key or a value: so many bytes, as programs see them.
pub trait Plain: Sized {
    /// How many: at most 64.
    const LEN: usize;

    /// Writes them.
    fn write(&self, bytes: &mut [u8]);

    /// Of the same bytes.
    fn read(bytes: &[u8]) -> Self;
}

fn bytes_of<T: Plain>(value: &T) -> [u8; LONGEST] {
    let mut bytes = [0; LONGEST];
    value.write(&mut bytes[..T::LEN]);
    bytes
}

/// A map from `K` to `V`.
#[derive(Debug)]
pub struct Map<K, V> {
    descriptor: OwnedFd,
    of: PhantomData<fn(K) -> V>,
}

impl<K: Plain, V: Plain> Map<K, V> {
    /// A table for so many entries. Programs find it full beyond.
    ///
    /// # Errors
    /// [`BpfError::Map`].
    pub fn hash(name: &'static str, entries: u32) -> Result<Map<K, V>, BpfError> {
        Map::create(HASH, name, entries, NO_PREALLOC)
    }

    /// A table for so many entries, about, in which those that nobody has asked for lately give way
    /// to others.
    ///
    /// # Errors
    /// [`BpfError::Map`].
    pub fn recent(name: &'static str, entries: u32) -> Result<Map<K, V>, BpfError> {
        Map::create(LRU_HASH, name, entries, 0)
    }

    /// So many values, all zero at first, by their numbers.
    ///
    /// # Errors
    /// [`BpfError::Map`].
    pub fn array(name: &'static str, entries: u32) -> Result<Map<K, V>, BpfError> {
        Map::create(ARRAY, name, entries, 0)
    }

    fn create(map_type: u32, name: &str, entries: u32, flags: u32) -> Result<Map<K, V>, BpfError> {
        const { assert!(K::LEN <= LONGEST && V::LEN <= LONGEST) };
        let descriptor = create(map_type, name, [K::LEN, V::LEN], entries, flags)?;
        Ok(Map { descriptor, of: PhantomData })
    }

    /// One that another process has made, of the same keys and values.
    pub fn of_descriptor(descriptor: OwnedFd) -> Map<K, V> {
        Map { descriptor, of: PhantomData }
    }

    /// As programs name it while they are loaded.
    pub fn fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The value of `key`, if there is one.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn get(&self, key: &K) -> Result<Option<V>, Errno> {
        let (key, mut value) = (bytes_of(key), [0; LONGEST]);
        let (key, value) = (&key[..K::LEN], &mut value[..V::LEN]);
        let found = syscall::lookup(self.descriptor.as_fd(), key, value)?;
        Ok(found.then(|| V::read(value)))
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// What the kernel said: E2BIG if it is full.
    pub fn set(&self, key: &K, value: &V) -> Result<(), Errno> {
        let (key, value) = (bytes_of(key), bytes_of(value));
        syscall::update(self.descriptor.as_fd(), &key[..K::LEN], &value[..V::LEN])
    }

    /// Removes `key`. Whether it was there.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn remove(&self, key: &K) -> Result<bool, Errno> {
        syscall::delete(self.descriptor.as_fd(), &bytes_of(key)[..K::LEN])
    }

    /// The key behind `key`, or the first if that is None or gone; None at the end.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn next(&self, key: Option<&K>) -> Result<Option<K>, Errno> {
        let (before, mut next) = (key.map(bytes_of), [0; LONGEST]);
        let before = before.as_ref().map(|bytes| &bytes[..K::LEN]);
        let next = &mut next[..K::LEN];
        let found = syscall::next_key(self.descriptor.as_fd(), before, next)?;
        Ok(found.then(|| K::read(next)))
    }

    /// All entries of a hash, by one call for some thousands. One that changes meanwhile is there
    /// or not.
    ///
    /// # Errors
    /// The kernel's.
    pub fn entries(&self) -> Result<Vec<(K, V)>, Errno> {
        let (mut keys, mut values) = (vec![0; BATCH * K::LEN], vec![0; BATCH * V::LEN]);
        let (mut entries, mut next) = (Vec::new(), Some(BatchPosition::default()));
        while let Some(from) = next {
            let sizes = [K::LEN, V::LEN];
            let map = self.descriptor.as_fd();
            let (read, behind) = syscall::lookup_batch(map, from, &mut keys, &mut values, sizes)?;
            let pairs = keys.chunks_exact(K::LEN).zip(values.chunks_exact(V::LEN));
            entries.extend(pairs.take(read).map(|(key, value)| (K::read(key), V::read(value))));
            next = behind;
        }
        Ok(entries)
    }
}

fn create(
    map_type: u32,
    name: &str,
    sizes: [usize; 2],
    entries: u32,
    flags: u32,
) -> Result<OwnedFd, BpfError> {
    let create = || syscall::create_map(map_type, name, sizes, entries, flags);
    create()
        .or_else(|errno| match errno {
            // Before Linux 5.11 a map counts as memory that is locked.
            Errno::EPERM => {
                setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY)?;
                create()
            }
            errno => Err(errno),
        })
        .map_err(|source| match source {
            Errno::EPERM => BpfError::Permission,
            source => BpfError::Map { entries, source },
        })
}

/// The numbers that processors can have.
const PROCESSORS: &str = "/sys/devices/system/cpu/possible";

/// Sets of `N` counters. Each processor has its own, so that no two wait for each other.
#[derive(Debug)]
pub struct Counters<const N: usize> {
    descriptor: OwnedFd,
    processors: usize,
}

impl<const N: usize> Counters<N> {
    /// So many sets, all zero at first, by their numbers.
    ///
    /// # Errors
    /// [`BpfError::Map`], [`BpfError::Processors`].
    pub fn new(name: &'static str, sets: u32) -> Result<Counters<N>, BpfError> {
        let text = fs::read_to_string(PROCESSORS).unwrap_or_default();
        let unknown = BpfError::Processors { file: PROCESSORS };
        let processors = processors_of(text.trim()).ok_or(unknown)?;
        let descriptor = create(PERCPU_ARRAY, name, [u32::LEN, N * u64::LEN], sets, 0)?;
        Ok(Counters { descriptor, processors })
    }

    /// As programs name it while they are loaded. A set is `N` numbers of eight bytes.
    pub fn fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The counters of a set, over all processors.
    ///
    /// # Errors
    /// The kernel's.
    pub fn sum(&self, set: u32) -> Result<[u64; N], Errno> {
        let mut bytes = vec![0; self.processors * N * u64::LEN];
        syscall::lookup(self.descriptor.as_fd(), &bytes_of(&set)[..u32::LEN], &mut bytes)?;
        let mut sums = [0; N];
        for (at, counter) in bytes.chunks_exact(u64::LEN).enumerate() {
            sums[at % N] += u64::read(counter);
        }
        Ok(sums)
    }
}

/// How many processors a list of the kernel's has: `0-3,6`.
fn processors_of(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(count).sum()
}

impl<K, V> AsFd for Map<K, V> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Plain for u64 {
    const LEN: usize = 8;

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> u64 {
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    }
}

impl<const N: usize> Plain for [u64; N] {
    const LEN: usize = N * u64::LEN;

    fn write(&self, bytes: &mut [u8]) {
        for (part, number) in bytes.chunks_exact_mut(u64::LEN).zip(self) {
            number.write(part);
        }
    }

    fn read(bytes: &[u8]) -> [u64; N] {
        std::array::from_fn(|at| u64::read(&bytes[at * u64::LEN..][..u64::LEN]))
    }
}

impl Plain for u32 {
    const LEN: usize = 4;

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> u32 {
        u32::from_ne_bytes(bytes.try_into().expect("four bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_as_the_kernel_lists_them() {
        let lists = [("0", Some(1)), ("0-3", Some(4)), ("0-3,6,8-9", Some(7))];
        for (list, count) in lists.into_iter().chain([("", None), ("3-1", None), ("x", None)]) {
            assert_eq!(processors_of(list), count, "{list}");
        }
    }

    #[test]
    fn entries_are_all_that_there_are() {
        let map: Map<u32, u64> = match Map::hash("test_entries", 10_000) {
            Err(BpfError::Permission) => return,
            map => map.expect("a map"),
        };
        assert_eq!(map.entries(), Ok(Vec::new()));
        for key in 0..9000_u32 {
            map.set(&key, &u64::from(2 * key)).expect("it is kept");
        }
        let mut entries = map.entries().expect("they are read");
        entries.sort_unstable();
        assert!(entries.into_iter().eq((0..9000).map(|key| (key, u64::from(2 * key)))));
    }
}
