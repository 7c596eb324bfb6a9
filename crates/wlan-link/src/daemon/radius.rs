//! The socket to the authentication server.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use wlan_eap::radius::MAX_LEN;

use crate::plane::Waiting;

/// Maximum number of datagrams that wait for the control plane: the number of requests in progress.
const DATAGRAMS: usize = 256;
/// Interval at which the reader checks whether its socket is still in use.
const LOOK: Duration = Duration::from_secs(1);

/// A socket that exchanges datagrams with one server only.
pub struct RadiusSocket(Arc<UdpSocket>);

impl RadiusSocket {
    /// Opens the socket.
    ///
    /// # Errors
    /// There is no route to the server.
    pub fn open(server: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = if server.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(Self(Arc::new(socket)))
    }

    /// Sends a datagram. A lost one is repeated, so errors are ignored.
    pub fn send(&self, datagram: &[u8]) {
        let _ = self.0.send(datagram);
    }

    /// Starts a thread that queues the server's datagrams and wakes the control plane. The thread ends after the socket
    /// is dropped. Datagrams beyond the capacity of the queue are dropped.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn read(&self, control: Arc<Waiting>) -> io::Result<Receiver<Vec<u8>>> {
        let (put, take) = sync_channel(DATAGRAMS);
        let socket: Weak<UdpSocket> = Arc::downgrade(&self.0);
        thread::Builder::new().name("link-radius".into()).spawn(move || {
            let mut datagram = vec![0; MAX_LEN];
            while let Some(socket) = socket.upgrade() {
                // A timeout, or an ICMP error about an earlier datagram.
                let Ok(len) = socket.recv(&mut datagram) else {
                    continue;
                };
                let _ = put.try_send(datagram[..len].to_vec());
                control.wake();
            }
        })?;
        Ok(take)
    }
}
