//! The pages of a history that is made up.

use super::write_site;
use crate::detect::tests::{Made, detected, made};
use crate::read::Shard;
use std::collections::BTreeSet;

#[tokio::test]
async fn every_series_and_alert_has_a_page_and_no_link_is_dead() {
    let level = |run, series| if run >= 40 && series < 10 { 1.05 } else { 1.0 };
    let contender = "<script>alert(1)</script>\"native\"";
    let made_up = Made { runs: 80, series: 60, new_code: true, contender, level };
    let (_folder, place) = made(&made_up).await;
    let alert = detected(&place, Shard::WHOLE).await.events[0].alert.clone();
    let out = tempfile::tempdir().unwrap();
    let count = write_site(&place, out.path()).await.unwrap();
    let files: BTreeSet<String> = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files.len(), count);
    // Style, script, two pages of the list, sixty series, alerts, machines, quarantine, one alert.
    assert_eq!(count, 2 + 2 + 60 + 3 + 1);
    for name in files.iter().filter(|name| name.ends_with(".html")) {
        let text = std::fs::read_to_string(out.path().join(name)).unwrap();
        assert!(!text.contains("<script>") && !text.contains("NaN"), "{name}");
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let is_here = link.starts_with('#') || link.starts_with("data:");
            assert!(is_here || files.contains(link), "{name}: {link}");
        }
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    assert_eq!(read("index.html").matches("class=\"plot spark\"").count(), 50);
    let moved_first = read("index.html");
    let rows: Vec<&str> = moved_first.split("<tr>").skip(2).collect();
    assert!(rows[..10].iter().all(|row| row.contains(&alert)), "open alerts come first");
    assert!(rows[10..].iter().all(|row| !row.contains(&alert)));
    let page = read(&format!("{alert}.html"));
    assert_eq!(page.matches("series-").count(), 10, "all members are shown");
    let moved = crate::detect::tests::key(0, contender).id().unwrap();
    let series = read(&format!("series-{moved}.html"));
    assert!(series.contains("where up") && series.contains(&alert));
    let still = crate::detect::tests::key(30, contender).id().unwrap();
    assert!(!read(&format!("series-{still}.html")).contains("where up"));
}

#[test]
fn the_name_of_an_alert_cannot_leave_the_folder() {
    for name in ["../../x", "alert-a/b", "s", "alert-..", "a\0b"] {
        let file = super::pages::alert_file(name);
        assert!(
            file.starts_with("alert-") && !file.contains('/') && file != "alerts.html",
            "{file}"
        );
    }
}
