//! One arm in a plain loop: a whole process for hyperfine, lines in Go's format for benchstat.

use std::time::{Duration, Instant};

use duel_kernels::Arm;

const USAGE: &str = "\
usage: duel-loop CASE PERCENT calls COUNT      call the kernel so often and end
       duel-loop CASE PERCENT go LINES SECONDS  print lines as `go test -bench` does
       duel-loop CASE PERCENT ns                print nanoseconds a call";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let [case, percent, rest @ ..] = &words[..] else { panic!("{USAGE}") };
    let mut arm = Arm::new(case, percent.parse().expect(USAGE)).expect("an arm");
    match rest {
        ["calls", count] => {
            timed(&mut arm, count.parse().expect(USAGE));
        }
        ["go", lines, seconds] => {
            let goal = Duration::from_secs_f64(seconds.parse().expect(USAGE));
            for _ in 0..lines.parse::<u32>().expect(USAGE) {
                let (calls, time) = grown(&mut arm, goal);
                let each = time.as_nanos() as f64 / calls as f64;
                println!("BenchmarkKernel \t{calls:8}\t{each:10.1} ns/op");
            }
        }
        ["ns"] => {
            let (calls, time) = grown(&mut arm, Duration::from_millis(100));
            println!("{:.1}", time.as_nanos() as f64 / calls as f64);
        }
        _ => panic!("{USAGE}"),
    }
}

fn timed(arm: &mut Arm, calls: u64) -> Duration {
    let begin = Instant::now();
    for _ in 0..calls {
        arm.call();
    }
    begin.elapsed()
}

/// Calls more and more often until the time reaches the goal, as Go's package `testing` does: by a
/// fifth above the prediction, a hundredfold at most.
fn grown(arm: &mut Arm, goal: Duration) -> (u64, Duration) {
    let mut calls = 1;
    loop {
        let time = timed(arm, calls);
        if time >= goal || calls >= 1_000_000_000 {
            return (calls, time);
        }
        let predicted = goal.as_nanos() * u128::from(calls) / time.as_nanos().max(1);
        let next = (predicted + predicted / 5) as u64;
        calls = next.clamp(calls + 1, calls.saturating_mul(100));
    }
}
