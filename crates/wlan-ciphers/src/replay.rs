//! Replay detection at the receiver, IEEE 802.11-2020 12.5.3.4.4.

use crate::{PacketNumber, Priority};

/// One counter for each TID and one for robust management frames.
const COUNTERS: usize = 17;

/// The packet number is not greater than the last one accepted at this priority: the frame is replayed or out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("replay: packet number {} after {}", found.get(), last.get())]
pub struct Replay {
    /// The frame's packet number.
    pub found: PacketNumber,
    /// The last packet number accepted.
    pub last: PacketNumber,
}

/// The replay counters of one temporal key.
///
/// The window is one number wide: within a priority, packet numbers must strictly increase. A BlockAck receiver
/// therefore reorders frames before it checks them (12.5.3.4.4).
#[derive(Debug, Clone)]
pub struct ReplayWindow {
    last: [PacketNumber; COUNTERS],
}

impl ReplayWindow {
    /// Creates counters with the value `start`: zero for a new pairwise key, the received sequence counter (Key RSC)
    /// for a group key.
    #[must_use]
    pub fn new(start: PacketNumber) -> ReplayWindow {
        ReplayWindow {
            last: [start; COUNTERS],
        }
    }

    /// Checks whether [`accept`](Self::accept) would succeed, for TKIP, which checks before it opens.
    ///
    /// # Errors
    /// The same [`Replay`] as [`accept`](Self::accept).
    ///
    /// # Panics
    /// If a TID is over 15.
    pub fn check(&self, priority: Priority, pn: PacketNumber) -> Result<(), Replay> {
        let last = self.last[counter(priority)];
        if pn <= last {
            return Err(Replay { found: pn, last });
        }
        Ok(())
    }

    /// Accepts the packet number of a frame that opened.
    ///
    /// # Errors
    /// [`Replay`] if the packet number is not greater than the last one accepted at this priority; the counter is then
    /// unchanged.
    ///
    /// # Panics
    /// If a TID is over 15.
    pub fn accept(&mut self, priority: Priority, pn: PacketNumber) -> Result<(), Replay> {
        self.check(priority, pn)?;
        self.last[counter(priority)] = pn;
        Ok(())
    }
}

/// Index of the counter of a priority.
fn counter(priority: Priority) -> usize {
    match priority {
        Priority::Tid(tid) => {
            assert!(tid < 16, "TID {tid} does not fit 4 bits");
            usize::from(tid)
        }
        Priority::Management => COUNTERS - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pn(value: u64) -> PacketNumber {
        PacketNumber::new(value).unwrap()
    }

    #[test]
    fn packet_numbers_must_increase_strictly() {
        let mut window = ReplayWindow::new(PacketNumber::ZERO);
        let tid = Priority::Tid(0);
        assert!(window.accept(tid, pn(0)).is_err(), "the counter starts at 0");
        window.accept(tid, pn(1)).unwrap();
        window.accept(tid, pn(9)).unwrap();
        assert_eq!(
            window.accept(tid, pn(9)),
            Err(Replay {
                found: pn(9),
                last: pn(9)
            })
        );
        assert_eq!(
            window.accept(tid, pn(5)),
            Err(Replay {
                found: pn(5),
                last: pn(9)
            })
        );
        window.accept(tid, PacketNumber::MAX).unwrap();
    }

    #[test]
    fn every_tid_and_management_has_its_own_counter() {
        let mut window = ReplayWindow::new(pn(100));
        for tid in 0..16 {
            assert!(
                window.accept(Priority::Tid(tid), pn(100)).is_err(),
                "the counter starts at the Key RSC"
            );
            window.accept(Priority::Tid(tid), pn(101)).unwrap();
        }
        window.accept(Priority::Management, pn(101)).unwrap();
        assert!(window.accept(Priority::Management, pn(101)).is_err());
    }
}
