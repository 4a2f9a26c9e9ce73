//! Prints `src/change/table.rs`: quantiles of the strongest split of series that do not change.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use proofmark_stats::change::{TABLE_SEED, TABLE_SERIES, null_quantiles};

/// The lengths of the table's rows. A series takes the row of the next length.
const POINTS: [usize; 11] = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];

fn main() {
    println!(
        "//! Quantiles of the strongest split of series that do not change, by their length.\n\
         //!\n\
         //! `cargo run --release -p proofmark-stats --example change_table` prints this file.\n\n\
         /// How many series each row was made of.\n\
         pub const TABLE_SERIES: usize = 40_000;\n\n\
         /// The seed of the rows.\n\
         pub const TABLE_SEED: u64 = {TABLE_SEED};\n\n\
         /// Points, and their quantiles at [`super::PROBABILITIES`].\n\
         #[rustfmt::skip]\n\
         pub(super) const ROWS: [(usize, [f64; 11]); {}] = [",
        POINTS.len()
    );
    let row = |points: usize| (points, null_quantiles(points, TABLE_SERIES, TABLE_SEED));
    let (short, long) = POINTS.split_at(POINTS.len() - 1);
    let mut rows: Vec<(usize, [f64; 11])> = Vec::new();
    std::thread::scope(|scope| {
        // The last takes as long as all others.
        let other = scope.spawn(|| long.iter().map(|&points| row(points)).collect::<Vec<_>>());
        rows.extend(short.iter().map(|&points| row(points)));
        rows.extend(other.join().unwrap_or_default());
    });
    for (points, quantiles) in rows {
        let columns: Vec<String> = quantiles.iter().map(|q| format!("{q:.4}")).collect();
        println!("    ({points}, [{}]),", columns.join(", "));
    }
    println!("];");
}
