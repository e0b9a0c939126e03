//! Where the properties' failures are kept, to be played again before anything new.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// Failures go to this file, below the crate's folder, in which tests run. proptest finds that
/// place by itself only for properties below `src`.
pub(crate) fn kept(file: &'static str) -> ProptestConfig {
    let kept = FileFailurePersistence::Direct(file);
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}
