//! Writes buffers to disk on a separate thread, so that the caller never waits.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The writing thread and its channels.
pub struct Writer {
    full: Sender<Vec<u8>>,
    /// Written buffers, to be reused.
    written: Receiver<Vec<u8>>,
    /// Buffers that were returned unwritten.
    unused: Vec<Vec<u8>>,
    /// Octets handed over but not yet written.
    waiting_b: Arc<AtomicUsize>,
    limit_b: usize,
    lost: u64,
    thread: JoinHandle<io::Result<()>>,
}

impl Writer {
    /// Starts the thread, which writes to `sink` and then calls `finish`. At most `limit_b` octets may wait.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start<W: Write + Send + 'static>(
        mut sink: W,
        finish: impl FnOnce(W) -> io::Result<()> + Send + 'static,
        limit_b: usize,
    ) -> io::Result<Self> {
        let (full, queue) = channel::<Vec<u8>>();
        let (back, written) = channel();
        let waiting_b = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::clone(&waiting_b);
        let write = move || {
            for buffer in queue {
                sink.write_all(&buffer)?;
                // The count guards no other memory, which the channels order; relaxed ordering suffices.
                waiting.fetch_sub(buffer.len(), Ordering::Relaxed);
                // The other end may already be waiting for this thread to end.
                let _ = back.send(buffer);
            }
            finish(sink)
        };
        Ok(Self {
            full,
            written,
            unused: Vec::new(),
            waiting_b,
            limit_b,
            lost: 0,
            thread: std::thread::Builder::new().name("capture".into()).spawn(write)?,
        })
    }

    /// An empty buffer, reused if possible.
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self
            .unused
            .pop()
            .or_else(|| self.written.try_recv().ok())
            .unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Takes back a buffer without writing it.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        self.unused.push(buffer);
    }

    /// Hands over a buffer, or counts it as lost if too many octets are waiting.
    pub fn write(&mut self, buffer: Vec<u8>) {
        if self.waiting_b.load(Ordering::Relaxed) + buffer.len() > self.limit_b {
            self.lost += 1;
            self.give_back(buffer);
            return;
        }
        self.waiting_b.fetch_add(buffer.len(), Ordering::Relaxed);
        // The thread ends early only after a failed write, which `finish` reports.
        let _ = self.full.send(buffer);
    }

    /// Number of lost buffers.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Waits until all buffers are written.
    ///
    /// # Errors
    /// The first failed write.
    pub fn finish(self) -> io::Result<()> {
        drop(self.full);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::*;

    /// A disk that blocks until it is released.
    struct Stuck {
        let_go: Arc<Barrier>,
        is_stuck: bool,
        disk: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            if std::mem::take(&mut self.is_stuck) {
                self.let_go.wait();
            }
            self.disk.lock().unwrap().extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_slow_disk_loses_whole_buffers_and_delays_nothing() {
        let (let_go, disk) = (Arc::new(Barrier::new(2)), Arc::default());
        let stuck = Stuck {
            let_go: Arc::clone(&let_go),
            is_stuck: true,
            disk: Arc::clone(&disk),
        };
        let mut writer = Writer::start(stuck, |_| Ok(()), 1000).unwrap();
        for number in 0..20 {
            let mut buffer = writer.buffer();
            buffer.extend([number; 150]);
            writer.write(buffer);
        }
        assert_eq!(writer.lost(), 14, "six buffers of 150 octets fit 1000");
        let_go.wait();
        writer.finish().unwrap();
        let expected: Vec<u8> = (0..6).flat_map(|number| [number; 150]).collect();
        assert_eq!(*disk.lock().unwrap(), expected);
    }

    #[test]
    fn the_first_write_that_fails_is_reported_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = Writer::start(Full, |_| Ok(()), 1000).unwrap();
        for _ in 0..3 {
            writer.write(vec![1; 10]);
        }
        assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
