//! Group keys installed at a station. Installing the same key twice would reset its replay window (IEEE 802.11-2020
//! 12.7.7.4, KRACK).

use std::collections::VecDeque;
use std::time::Duration;

use wlan_ciphers::KeyId;
use wlan_frames::MacAddr;

use crate::message::{Contents, GroupKey, integrity_keys};
use crate::output::{self, Output, Timing};
use crate::{Association, Key};

#[derive(Default)]
pub(crate) struct InstalledGroupKeys {
    /// By Key ID. A retired key remains here, so that it cannot be installed again.
    gtks: [Option<Key>; 4],
    /// The Key ID of the newest group key.
    newest: Option<KeyId>,
    /// The times at which replaced group keys retire, by Key ID.
    retire_at: [Option<Duration>; 4],
    /// IGTKs and BIGTKs, by Key ID minus 4.
    integrity: [Option<Key>; 4],
}

impl InstalledGroupKeys {
    /// Installs all keys that are not installed yet. A new group key replaces the others, which are kept for
    /// [`Timing::overlap`].
    pub(crate) fn install(
        &mut self,
        contents: Contents,
        association: &Association,
        peer: MacAddr,
        (timing, now): (&Timing, Duration),
        outputs: &mut VecDeque<Output>,
    ) {
        if let Some(GroupKey { key_id, key, rsc }) = contents.gtk
            && let Some(key_id) = u8::try_from(key_id).ok().and_then(KeyId::new)
            && is_new(&mut self.gtks, usize::from(key_id.get()), &key)
        {
            if let Some(replaced) = self.newest.replace(key_id) {
                self.retire_at[usize::from(replaced.get())] = Some(now.saturating_add(timing.overlap));
            }
            self.retire_at[usize::from(key_id.get())] = None;
            let suite = association.group;
            let key = output::GroupKey {
                key_id,
                suite,
                key,
                rsc,
            };
            outputs.push_back(Output::InstallGroup { peer, key });
        }
        for (key_id, GroupKey { key, rsc, .. }) in integrity_keys(contents.igtk, contents.bigtk) {
            if let Some(suite) = association.group_management
                && is_new(&mut self.integrity, usize::from(key_id.get()) - 4, &key)
            {
                outputs.push_back(Output::InstallIntegrity {
                    peer,
                    key_id,
                    suite,
                    key,
                    ipn: rsc,
                });
            }
        }
    }

    /// Retires all group keys whose time is over.
    pub(crate) fn expire(
        &mut self,
        peer: MacAddr,
        timing: &Timing,
        now: Duration,
        outputs: &mut VecDeque<Output>,
    ) {
        for (key_id, at) in (0..).zip(&mut self.retire_at) {
            if at.take_if(|at| timing.is_due(*at, now)).is_some()
                && let Some(key_id) = KeyId::new(key_id)
            {
                outputs.push_back(Output::RetireGroup { peer, key_id });
            }
        }
    }

    /// The time at which the first group key retires.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.retire_at.iter().flatten().min().copied()
    }
}

/// Records a key. Returns false if the key is already recorded under any Key ID.
fn is_new(keys: &mut [Option<Key>], at: usize, key: &Key) -> bool {
    if keys.iter().flatten().any(|known| known == key) {
        return false;
    }
    keys[at] = Some(key.clone());
    true
}
