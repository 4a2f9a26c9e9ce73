//! Messages of protocol buffers, field by field.

/// A message, as bytes.
#[derive(Clone, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    pub(super) fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    pub(super) fn real(mut self, field: u32, value: f32) -> Message {
        self.varint(u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.message(field, Message(text.as_bytes().to_vec()))
    }

    pub(super) fn message(mut self, field: u32, inner: Message) -> Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(inner.0.len() as u64);
        self.0.extend(inner.0);
        self
    }

    /// Seven bits a byte, lowest first; the high bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_protocol_buffers_have_them() {
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0[..3], [0x12, 0x07, b't']);
        let minus_one = Message::default().number(3, u64::MAX).0;
        assert_eq!((minus_one.len(), minus_one[10]), (11, 1), "ten bytes for a negative number");
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, inner).0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().number(20, 2).0, [0xa0, 0x01, 0x02]);
    }
}
