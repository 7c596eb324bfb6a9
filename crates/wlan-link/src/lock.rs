//! Locks for values that remain consistent if a thread panics.

use std::sync::{Mutex, MutexGuard};

/// Locks a value that remains consistent if a thread panics. A poisoned lock is therefore usable.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
