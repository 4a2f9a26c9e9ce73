//! The worker's end of the socket.

use proofmark_schema::wire::{FromWorker, MAX_OPERANDS, MESSAGE_LIMIT};
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;

/// Maximum number of bytes of a reason that are sent, because a kernel's message has no limit.
const REASON_BYTES: usize = 8 * 1024;

/// One message with its files.
pub(crate) struct Message {
    pub(crate) text: Vec<u8>,
    pub(crate) files: Vec<OwnedFd>,
}

/// Waits for a message. An empty one means that the supervisor has closed its end.
pub(crate) fn receive(socket: &OwnedFd) -> io::Result<Message> {
    let mut text = vec![0; MESSAGE_LIMIT];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_OPERANDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let count = loop {
        let parts = &mut [IoSliceMut::new(&mut text)];
        match recvmsg(socket, parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received.bytes,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    text.truncate(count);
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    Ok(Message { text, files })
}

/// Answers the last message or batch.
pub(crate) fn answer(socket: &OwnedFd, answer: &FromWorker) -> io::Result<()> {
    let text = serde_json::to_vec(answer)?;
    send(socket, &text, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// `Failed` with as much of the reason as is sent.
pub(crate) fn failed(mut reason: String) -> FromWorker {
    reason.truncate(reason.floor_char_boundary(REASON_BYTES));
    FromWorker::Failed { reason }
}
