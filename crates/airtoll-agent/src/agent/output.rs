//! The stream of frames to the controller.

use std::io::Stdout;
use std::process::exit;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::frame;

/// The stream to the controller, which all threads share.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Stdout>>);

impl Output {
    /// Sends to the standard output.
    #[must_use]
    pub fn to(stream: Stdout) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    /// Sends a frame. Without a controller this process has no purpose: it ends, and the supervisor ends the rest.
    pub fn send(&self, head: &impl Serialize, body: &[u8]) {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if frame::write(&mut *stream, head, body).is_err() {
            super::wait_while_restoring();
            exit(1);
        }
    }
}
