//! One arm under criterion; baselines and times are options of its own command line.

use criterion::{Criterion, criterion_group, criterion_main};
use duel_kernels::Arm;

fn kernel(criterion: &mut Criterion) {
    let mut arm = Arm::of_environment().expect("an arm");
    criterion.bench_function("kernel", |bencher| bencher.iter(|| arm.call()));
}

criterion_group!(arms, kernel);
criterion_main!(arms);
