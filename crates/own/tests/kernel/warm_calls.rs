//! A warm call of a foreign function allocates nothing.

use crate::trial::{Operands, case, example};
use proofmark_own::kernel::load;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_warm_call_allocates_nothing() {
    for name in ["softmax.toml", "scale.toml", "packed.toml"] {
        let (_folder, kernel) = example(name);
        kernel.build().unwrap();
        let (case, signature) = case("rows:f32[rows=3,cols=8]");
        let peered = load(&kernel, None, (&case, &signature), 1).expect("it is loaded");
        let mut sets = [(); 2].map(|()| Operands::new((&case, &signature), 0));
        for operands in &mut sets {
            operands.prepare(peered.kernel, 1).unwrap();
            peered.kernel.run(&mut operands.call(1)).unwrap();
        }
        let before = ALLOCATIONS.get();
        for i in 0..100 {
            peered.kernel.run(&mut sets[i % 2].call(1)).unwrap();
        }
        assert_eq!(ALLOCATIONS.get(), before, "{name}");
        let boxed = std::hint::black_box(Box::new(1));
        assert_eq!(ALLOCATIONS.get(), before + 1, "the count works: {boxed}");
    }
}
