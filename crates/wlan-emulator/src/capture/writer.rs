//! Octets on their way to the disk, on a thread of their own: whoever hands them over never waits.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The thread that writes, and what goes there and back.
pub struct Writer {
    full: Sender<Vec<u8>>,
    /// Buffers that were written, to be filled again.
    written: Receiver<Vec<u8>>,
    /// Buffers that were given back unwritten.
    unused: Vec<Vec<u8>>,
    /// Octets that were handed over and are not written yet.
    waiting_b: Arc<AtomicUsize>,
    limit_b: usize,
    lost: u64,
    thread: JoinHandle<io::Result<()>>,
}

impl Writer {
    /// Starts the thread, which writes to `sink`, of which at most `limit_b` octets wait, and ends with `finish`.
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
                // A count that guards no other memory: the channels order that.
                waiting.fetch_sub(buffer.len(), Ordering::Relaxed);
                // The other end may have gone to wait for this thread.
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

    /// An empty buffer, one used before if there is one.
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self
            .unused
            .pop()
            .or_else(|| self.written.try_recv().ok())
            .unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Takes back a buffer that is not to be written.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        self.unused.push(buffer);
    }

    /// Hands over a buffer, or counts it as lost where too much waits already.
    pub fn write(&mut self, buffer: Vec<u8>) {
        if self.waiting_b.load(Ordering::Relaxed) + buffer.len() > self.limit_b {
            self.lost += 1;
            self.give_back(buffer);
            return;
        }
        self.waiting_b.fetch_add(buffer.len(), Ordering::Relaxed);
        // The thread is gone only after a write failed, which `finish` reports.
        let _ = self.full.send(buffer);
    }

    /// Buffers that were lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// The first write that failed.
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

    /// A disk that takes nothing before it is let go.
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
    fn a_disk_that_does_not_keep_up_costs_whole_buffers_and_no_time() {
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
