//! The supervisor's end of the socket: whole messages, each with its memory files.

use proofmark_schema::wire::{MAX_OPERANDS, MESSAGE_LIMIT};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recv, sendmsg, socketpair,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;

/// One end of a pair of sockets that keep messages apart.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Our end, and the worker's.
    pub(crate) fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Channel { socket: ours }, theirs))
    }

    /// Sends one message with files. Never waits: the worker reads every message before the next.
    pub(crate) fn send(&self, message: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        if message.len() > MESSAGE_LIMIT || files.len() > MAX_OPERANDS {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "message is too long"));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_OPERANDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            let fits = control.push(SendAncillaryMessage::ScmRights(files));
            debug_assert!(fits, "space was made for the greatest number of files");
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.socket, &[IoSlice::new(message)], &mut control, flags)?;
        Ok(())
    }

    /// The message that is there; `None` if there is none.
    pub(crate) fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; MESSAGE_LIMIT];
        // Plain `recv` takes no files: the kernel closes any that a worker sends.
        match recv(&self.socket, bytes.as_mut_slice(), RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNRESET) => Ok(None),
            Ok((count, _)) => {
                bytes.truncate(count);
                Ok(Some(bytes))
            }
            Err(error) => Err(error.into()),
        }
    }
}
