//! Locks of values that no panic leaves half changed.

use std::sync::{Mutex, MutexGuard};

/// Locks a value that no panic leaves half changed, so a poisoned lock is still usable.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
