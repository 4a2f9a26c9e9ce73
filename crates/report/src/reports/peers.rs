//! The report of peers: which are here, and how to get the others.

use crate::document::{Cell, Column, Document, Emphasis};
use proofmark_schema::Lock;
use serde_json::json;

/// One peer.
#[derive(Clone, Debug)]
pub struct PeerRow {
    /// Its name.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// `ready` or `absent`.
    pub status: String,
    /// Its version, where it is known without opening it.
    pub version: Option<String>,
    /// Whether it was installed from a lock, where that is known.
    pub lock: Option<Lock>,
    /// How to get it, where it is absent.
    pub hint: Option<String>,
    /// Ops that it has an equal of; none where only it itself can tell.
    pub ops: Vec<String>,
}

const COLUMNS: [Column; 6] = [
    Column::left("peer", 0),
    Column::left("status", 0),
    Column::left("version", 1),
    Column::left("lock", 1),
    Column::left("ops", 2),
    Column::text("how to get it, or what it is", 0),
];

/// The document of some peers.
pub fn peers(rows: &[PeerRow]) -> Document {
    let data: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "summary": row.summary,
                "status": row.status,
                "version": row.version,
                "lock": row.lock,
                "hint": row.hint,
                "ops": row.ops,
            })
        })
        .collect();
    let mut document = Document::new("Peers", json!({ "peers": data }), "peers");
    let cells = rows.iter().map(|row| {
        let is_ready = row.hint.is_none();
        let status = if is_ready {
            Cell::with(&row.status, Emphasis::Good)
        } else {
            Cell::plain(&row.status)
        };
        vec![
            Cell::plain(&row.name),
            status,
            row.version.as_ref().map_or_else(Cell::nothing, Cell::plain),
            row.lock.map_or_else(Cell::nothing, |lock| Cell::plain(lock.name())),
            Cell::plain(row.ops.join(" ")),
            Cell::plain(row.hint.as_ref().unwrap_or(&row.summary)),
        ]
    });
    document.table("", &COLUMNS, cells.collect());
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    #[test]
    fn absent_peers_say_how_to_get_them() {
        let ready = PeerRow {
            name: "blas".to_owned(),
            summary: "matrices".to_owned(),
            status: "ready".to_owned(),
            version: Some("1.2".to_owned()),
            lock: Some(Lock::Locked),
            hint: None,
            ops: vec!["matmul".to_owned()],
        };
        let hint = Some("proofmark peers add torch".to_owned());
        let absent = PeerRow {
            name: "torch".to_owned(),
            status: "absent".to_owned(),
            version: None,
            lock: None,
            hint: hint.clone(),
            ..ready.clone()
        };
        let document = peers(&[ready, absent]);
        assert_eq!(document.data["peers"][1]["hint"], json!(hint));
        assert_eq!(document.data["peers"][0]["version"], "1.2");
        assert_eq!(document.data["peers"][0]["lock"], "locked");
        let text = (find("term").unwrap().render)(&document, &Style::default());
        assert!(text.contains("proofmark peers add torch") && text.contains("matrices"), "{text}");
    }
}
