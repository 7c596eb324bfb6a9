//! Locks of values that no panic leaves half changed.

use std::sync::{Mutex, MutexGuard};

/// Locks what cannot be left half done: whoever panicked did so elsewhere.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
