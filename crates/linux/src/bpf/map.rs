//! A map: what programs of the kernel's and we share, by keys and values of fixed lengths.

use super::{BpfError, syscall};
use nix::errno::Errno;
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

const HASH: u32 = 1;
const ARRAY: u32 = 2;
const LRU_HASH: u32 = 9;
/// Room is taken as entries come, and not for all of them at once.
const NO_PREALLOC: u32 = 1;

/// No key or value is longer, in bytes.
const LONGEST: usize = 64;

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
        let sizes = [K::LEN, V::LEN];
        let create = || syscall::create_map(map_type, name, sizes, entries, flags);
        let descriptor = create()
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
            })?;
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

impl Plain for u32 {
    const LEN: usize = 4;

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> u32 {
        u32::from_ne_bytes(bytes.try_into().expect("four bytes"))
    }
}
