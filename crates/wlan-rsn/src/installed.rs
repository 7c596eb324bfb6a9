//! Group keys installed at a station. Installing the same key twice would reset its replay window (IEEE 802.11-2020
//! 12.7.7.4, KRACK).

use std::collections::VecDeque;

use wlan_ciphers::KeyId;
use wlan_frames::MacAddr;

use crate::message::{Contents, GroupKey, integrity_keys};
use crate::output::Output;
use crate::{Association, Key};

#[derive(Default)]
pub(crate) struct InstalledGroupKeys {
    /// By Key ID.
    gtks: [Option<Key>; 4],
    /// IGTKs and BIGTKs, by Key ID minus 4.
    integrity: [Option<Key>; 4],
}

impl InstalledGroupKeys {
    /// Installs all keys that are not installed yet.
    pub(crate) fn install(
        &mut self,
        contents: Contents,
        association: &Association,
        peer: MacAddr,
        outputs: &mut VecDeque<Output>,
    ) {
        if let Some(GroupKey { key_id, key, rsc }) = contents.gtk
            && let Some(key_id) = u8::try_from(key_id).ok().and_then(KeyId::new)
            && is_new(&mut self.gtks, usize::from(key_id.get()), &key)
        {
            outputs.push_back(Output::InstallGroup {
                peer,
                key_id,
                suite: association.group,
                key,
                rsc,
            });
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
}

/// Records a key. Returns false if the key is already recorded under any Key ID.
fn is_new(keys: &mut [Option<Key>], at: usize, key: &Key) -> bool {
    if keys.iter().flatten().any(|known| known == key) {
        return false;
    }
    keys[at] = Some(key.clone());
    true
}
