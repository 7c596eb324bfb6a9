//! Turns panics of a decoder into errors, without a message on standard error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` and returns `None` if it panics. The panic prints no message.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work)).ok();
    QUIET.set(outer);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_none() {
        assert_eq!(without_panic(|| 1), Some(1));
        assert_eq!(without_panic(|| panic!("hidden")), None::<()>);
        assert!(!QUIET.get());
    }
}
