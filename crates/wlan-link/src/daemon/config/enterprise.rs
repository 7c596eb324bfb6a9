//! The tables of 802.1X: `[radius]` of an access point, and `[eap]` of a station.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use wlan_eap::Secret;
use wlan_eap::peer::{self, Method, Tls};
use wlan_host::os_error::words;
use wlan_rsn::Akm;

use super::written::{Eap, EapMethod, Phase2, Radius};
use super::{ConfigError, RadiusConfig, Reader, secrets, span};

impl Reader<'_> {
    /// A table that 802.1X requires at the end `has_it`, and that nothing else uses.
    fn table<T>(
        &self,
        name: &str,
        akm: Akm,
        has_it: bool,
        written: Option<Spanned<T>>,
    ) -> Result<Option<T>, ConfigError> {
        match (akm.is_eap() && has_it, written) {
            (false, None) => Ok(None),
            (false, Some(table)) => {
                Err(self.at(table.span(), format!("akm {} uses no `[{name}]`", akm.name())))
            }
            (true, None) => Err(self.of(&format!("akm {} requires a table `[{name}]`", akm.name()))),
            (true, Some(table)) => Ok(Some(table.into_inner())),
        }
    }

    /// The authentication server, which an access point with 802.1X requires.
    pub(super) fn radius(
        &self,
        is_ap: bool,
        akm: Akm,
        name: &str,
        written: Option<Spanned<Radius>>,
    ) -> Result<Option<RadiusConfig>, ConfigError> {
        let Some(written) = self.table("radius", akm, is_ap, written)? else {
            return Ok(None);
        };
        let secret_file = self.beside(&written.auth_server_shared_secret_file);
        let period = written.eap_reauth_period;
        Ok(Some(RadiusConfig {
            server: (written.auth_server_addr, written.auth_server_port).into(),
            secret: Secret::new(secrets::line(&secret_file, "shared secret")?),
            nas_identifier: self
                .checked_if_any(
                    written.nas_identifier,
                    "a NAS-Identifier has 1 to 253 octets (RFC 2865 5.32)",
                    |name| (1..=253).contains(&name.len()),
                )?
                .unwrap_or_else(|| name.to_owned()),
            authenticate_after: period
                .map(|period| self.seconds(Some(period), 10, 0))
                .transpose()?,
        }))
    }

    /// The identity, which a station with 802.1X requires.
    pub(super) fn eap(
        &self,
        is_ap: bool,
        akm: Akm,
        written: Option<Spanned<Eap>>,
    ) -> Result<Option<Arc<peer::Settings>>, ConfigError> {
        let Some(written) = self.table("eap", akm, !is_ap, written)? else {
            return Ok(None);
        };
        let identity = |value: Spanned<String>| {
            let octets = "an identity has 1 to 253 octets (RFC 7542 2.3)";
            self.checked(value, octets, |name| (1..=253).contains(&name.len()))
        };
        let read = |file: &Path| {
            let path = self.beside(file);
            std::fs::read(&path).map_err(|error| ConfigError::of(&path, &words(&error)))
        };
        let with_password = written.eap != EapMethod::Tls;
        let unused = if with_password {
            [span(&written.client_cert), span(&written.private_key)]
        } else {
            [span(&written.phase2), span(&written.password_file)]
        };
        if let Some(span) = unused.into_iter().flatten().next() {
            return Err(self.at(span, "the method in `eap` does not use this key"));
        }
        let method = match (written.eap, written.phase2.map(Spanned::into_inner)) {
            (EapMethod::Tls, _) => Method::Tls,
            (EapMethod::Peap, Some(Phase2::Pap)) => {
                return Err(self.of("[eap]: PEAP has no phase2 \"auth=PAP\""));
            }
            (method, phase2) => {
                let file = written
                    .password_file
                    .ok_or_else(|| self.of("[eap]: TTLS and PEAP require `password_file`"))?;
                let password = Secret::new(secrets::line(&self.beside(file.get_ref()), "password")?);
                match (method, phase2) {
                    (EapMethod::Peap, _) => Method::PeapMsChapV2(password),
                    (_, Some(Phase2::Pap)) => Method::TtlsPap(password),
                    _ => Method::TtlsMsChapV2(password),
                }
            }
        };
        let own = match (written.client_cert, written.private_key) {
            (None, None) if with_password => None,
            (Some(certificate), Some(key)) => {
                let key = secrets::file(&self.beside(key.get_ref()), "private key")?;
                Some((read(certificate.get_ref())?, key))
            }
            _ => return Err(self.of("[eap]: TLS requires `client_cert` and `private_key`")),
        };
        let own = own
            .as_ref()
            .map(|(certificate, key)| (&certificate[..], &key[..]));
        let tls = Tls::new(&read(&written.ca_cert)?, written.domain_match.get_ref(), own);
        Ok(Some(Arc::new(peer::Settings {
            method,
            identity: identity(written.identity)?.into_bytes(),
            anonymous_identity: written
                .anonymous_identity
                .map(identity)
                .transpose()?
                .map(String::into_bytes),
            tls: tls.map_err(|error| self.of(&format!("[eap]: {error}")))?,
        })))
    }
}
