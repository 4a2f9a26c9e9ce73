//! One arm under divan.

use duel_kernels::Arm;

fn main() {
    divan::main();
}

#[divan::bench]
fn kernel(bencher: divan::Bencher<'_, '_>) {
    let mut arm = Arm::of_environment().expect("an arm");
    bencher.bench_local(|| arm.call());
}
