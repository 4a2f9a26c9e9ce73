//! All arms of one track under tango, which pairs two of them by their names.

use duel_kernels::Arm;
use tango_bench::{IntoBenchmarks, benchmark_fn, tango_benchmarks};

fn arms() -> impl IntoBenchmarks {
    let case = std::env::var("DUEL_CASE").expect("DUEL_CASE names a case");
    [0, 1, 2, 5].map(|percent| {
        let case = case.clone();
        benchmark_fn(format!("plus{percent}/kernel"), move |bencher| {
            let mut arm = Arm::new(&case, percent).expect("an arm");
            bencher.iter(move || arm.call())
        })
    })
}

tango_benchmarks!(arms());
