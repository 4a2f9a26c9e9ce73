//! The planted kernels: one good, the others each wrong in one way.

use crate::copy::Copy;
use proofmark_contract::{Call, Entry, Kernel, KernelError, Mutant, Unsupported};
use proofmark_schema::{Case, Isa};
use proofmark_simd::state;
use std::arch::asm;
use std::hint::black_box;
use std::ptr::{read_volatile, without_provenance_mut, write_volatile};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

type Body = fn(&mut Call<'_>) -> Result<(), KernelError>;

/// A kernel from a function.
struct Planted {
    name: &'static str,
    body: Body,
}

impl Kernel for Planted {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        "planted"
    }
    fn isas(&self) -> &'static [Isa] {
        &[Isa::Scalar]
    }
    fn is_parallel(&self) -> bool {
        true
    }
    fn supports(&self, case: &Case, _: Isa) -> Result<(), Unsupported> {
        if self.name == "crash_in_load" {
            touch_null();
        }
        match case.size("r") {
            Some(13) => Err(Unsupported("thirteen rows".to_owned())),
            _ => Ok(()),
        }
    }
    fn workspace_bytes(&self, _: &Case, _: Isa, threads: usize) -> usize {
        64 * threads
    }
    fn prepared_bytes(&self, _: &Case, _: Isa) -> usize {
        if matches!(self.name, "packed" | "crash_in_prepare") { 64 } else { 0 }
    }
    fn prepare(&self, _: &mut Call<'_>, prepared: &mut [u8]) -> Result<(), KernelError> {
        if self.name == "crash_in_prepare" {
            touch_null();
        }
        prepared.fill(7);
        Ok(())
    }
    fn run(&self, call: &mut Call<'_>) -> Result<(), KernelError> {
        (self.body)(call)
    }
}

/// The list of kernels. They are listed as mutants so that they are not taken for real kernels.
macro_rules! planted {
    ($($name:ident),* $(,)?) => {
        static GOOD: Planted = Planted { name: "good", body: copy };
        static MUTANTS: &[Mutant] = &[$(Mutant {
            name: stringify!($name),
            flaw: "planted",
            kernel: &Planted { name: stringify!($name), body: $name },
        }),*];
        static COPY: Entry =
            Entry { op: &Copy, kernels: &[&GOOD], mutants: MUTANTS, suite: "" };
        pub(crate) static PLANTED: &[&Entry] = &[&COPY];
    };
}

planted![
    segfault,
    write_past_end,
    write_before_start,
    write_between_rows,
    read_past_end,
    write_input,
    unprotect_input,
    skip_one,
    write_nan,
    hang,
    sleep_forever,
    dawdle,
    allocate_forever,
    map_forever,
    exit_three,
    abort,
    illegal,
    divide,
    breakpoint,
    misaligned,
    overflow_stack,
    panics,
    panics_on_pool,
    refuses,
    crash_in_load,
    crash_in_prepare,
    packed,
    third_call_crashes,
    crash_on_pool,
    talks_then_crashes,
    flood,
    flush_to_zero,
    dirty_upper,
    tiles_live,
    x87_push,
    leak_once,
    allocates,
    copy_workspace,
    count_threads,
    fork_child,
    fork_away,
    leave_thread,
    close_files,
];

fn copy(call: &mut Call<'_>) -> Result<(), KernelError> {
    let x = call.inputs[0].rows::<f32>()?;
    let mut y = call.outputs[0].rows_mut::<f32>()?;
    for row in 0..x.rows() {
        y.row_mut(row).copy_from_slice(x.row(row));
    }
    Ok(())
}

fn touch_null() {
    // SAFETY: none; that is the fault being planted.
    unsafe { write_volatile(without_provenance_mut::<u8>(8), 1) };
}

/// Writes one element at a byte offset from the start of `y`.
fn write_at(call: &mut Call<'_>, offset: isize) {
    let at = call.outputs[0].base().wrapping_offset(offset).cast::<f32>();
    // SAFETY: none where the offset leaves the operand; that is the fault being planted.
    unsafe { write_volatile(at, 1.0) };
}

fn end_of(tensor: &proofmark_tensor::Tensor) -> isize {
    (tensor.layout.span() * 4).cast_signed()
}

fn segfault(_: &mut Call<'_>) -> Result<(), KernelError> {
    touch_null();
    Ok(())
}

fn write_past_end(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    let end = end_of(&call.outputs[0]);
    write_at(call, end);
    Ok(())
}

fn write_before_start(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    write_at(call, -4);
    Ok(())
}

fn write_between_rows(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    let after_row_zero = (call.outputs[0].layout.cols() * 4).cast_signed();
    write_at(call, after_row_zero);
    Ok(())
}

fn read_past_end(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    let x = &call.inputs[0];
    let at = x.base().wrapping_offset(end_of(x));
    // SAFETY: none; that is the fault being planted.
    black_box(unsafe { read_volatile(at) });
    Ok(())
}

fn write_input(call: &mut Call<'_>) -> Result<(), KernelError> {
    let at = call.inputs[0].base().wrapping_add(12).cast::<f32>();
    // SAFETY: none; that is the fault being planted.
    unsafe { write_volatile(at, 1.0) };
    Ok(())
}

fn unprotect_input(call: &mut Call<'_>) -> Result<(), KernelError> {
    let page = call.inputs[0].base().map_addr(|at| at & !4095);
    // SAFETY: asks for more access to a mapped page; nothing is written.
    let refused =
        unsafe { libc::mprotect(page.cast(), 4096, libc::PROT_READ | libc::PROT_WRITE) } != 0;
    if refused { Err(KernelError::Refused("mprotect is refused".into())) } else { copy(call) }
}

fn skip_one(call: &mut Call<'_>) -> Result<(), KernelError> {
    let kept = call.outputs[0].rows::<f32>()?.row(0)[5].to_bits();
    copy(call)?;
    call.outputs[0].rows_mut::<f32>()?.row_mut(0)[5] = f32::from_bits(kept);
    Ok(())
}

fn write_nan(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    call.outputs[0].rows_mut::<f32>()?.row_mut(0)[3] = f32::NAN;
    Ok(())
}

fn hang(_: &mut Call<'_>) -> Result<(), KernelError> {
    loop {
        std::hint::spin_loop();
    }
}

fn sleep_forever(_: &mut Call<'_>) -> Result<(), KernelError> {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Sleeps much and works a little, so that neither processor time nor silence ends it.
fn dawdle(_: &mut Call<'_>) -> Result<(), KernelError> {
    loop {
        std::thread::sleep(Duration::from_millis(1));
        for _ in 0..100_000 {
            std::hint::spin_loop();
        }
    }
}

fn allocate_forever(_: &mut Call<'_>) -> Result<(), KernelError> {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1u8; 1 << 20]));
    }
}

/// Shared mappings are no data of the process: only the watch on its resident memory sees them.
fn map_forever(_: &mut Call<'_>) -> Result<(), KernelError> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    loop {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory at an address of the kernel's choice.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), 1 << 22, access, MapFlags::SHARED) };
        let memory = memory.map_err(|error| KernelError::Refused(error.to_string()))?;
        // SAFETY: just mapped, of that size, writable.
        unsafe { std::ptr::write_bytes(memory.cast::<u8>(), 1, 1 << 22) };
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn exit_three(_: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: ends the process.
    unsafe { libc::_exit(3) }
}

fn abort(_: &mut Call<'_>) -> Result<(), KernelError> {
    std::process::abort()
}

fn illegal(_: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: none; that is the fault being planted.
    unsafe { asm!("ud2", options(nomem, nostack)) };
    Ok(())
}

fn divide(_: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: none; that is the fault being planted.
    unsafe {
        asm!("xor edx, edx", "div {0:e}", in(reg) 0u32, inout("eax") 1u32 => _, out("edx") _);
    };
    Ok(())
}

fn breakpoint(_: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: none; that is the fault being planted.
    unsafe { asm!("int3", options(nomem, nostack)) };
    Ok(())
}

fn misaligned(call: &mut Call<'_>) -> Result<(), KernelError> {
    let odd = call.inputs[0].base().wrapping_add(4);
    // SAFETY: none; that is the fault being planted.
    unsafe { asm!("movaps {1}, [{0}]", in(reg) odd, out(xmm_reg) _, options(nostack)) };
    Ok(())
}

fn overflow_stack(_: &mut Call<'_>) -> Result<(), KernelError> {
    fn deeper(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        if depth == u64::MAX { 0 } else { deeper(black_box(depth + 1)) + frame[7] }
    }
    black_box(deeper(1));
    Ok(())
}

fn panics(_: &mut Call<'_>) -> Result<(), KernelError> {
    panic!("planted panic")
}

fn panics_on_pool(call: &mut Call<'_>) -> Result<(), KernelError> {
    call.pool.run(2, &|index| assert_ne!(index, 1, "planted panic of a helper"));
    Ok(())
}

fn refuses(_: &mut Call<'_>) -> Result<(), KernelError> {
    Err(KernelError::Refused("planted refusal".to_owned()))
}

fn crash_in_load(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)
}

fn crash_in_prepare(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)
}

fn packed(call: &mut Call<'_>) -> Result<(), KernelError> {
    let value = f32::from(call.prepared[63]);
    call.outputs[0].rows_mut::<f32>()?.row_mut(0).fill(value);
    Ok(())
}

static CALLS: AtomicU32 = AtomicU32::new(0);

fn third_call_crashes(call: &mut Call<'_>) -> Result<(), KernelError> {
    if CALLS.fetch_add(1, Ordering::Relaxed) == 2 {
        touch_null();
    }
    copy(call)
}

fn crash_on_pool(call: &mut Call<'_>) -> Result<(), KernelError> {
    let past = call.outputs[0].base().wrapping_offset(end_of(&call.outputs[0])) as usize;
    call.pool.run(2, &|index| {
        if index == 1 {
            // SAFETY: none; that is the fault being planted.
            unsafe { write_volatile(without_provenance_mut::<u8>(past), 1) };
        }
    });
    Ok(())
}

fn print(text: &[u8]) {
    use std::os::fd::AsFd;
    let mut rest = text;
    while !rest.is_empty() {
        match rustix::io::write(std::io::stdout().as_fd(), rest) {
            Ok(count) => rest = &rest[count..],
            Err(_) => return,
        }
    }
}

fn talks_then_crashes(_: &mut Call<'_>) -> Result<(), KernelError> {
    print(b"about to divide the universe\n");
    touch_null();
    Ok(())
}

fn flood(call: &mut Call<'_>) -> Result<(), KernelError> {
    let line = [b'x'; 4096];
    for _ in 0..512 {
        print(&line);
    }
    copy(call)
}

fn flush_to_zero(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    state::set_mxcsr(state::MXCSR_DEFAULT | 0x8040);
    Ok(())
}

fn dirty_upper(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    // SAFETY: the test runs only where there is AVX2; the register is declared clobbered, its
    // upper half is left dirty on purpose.
    unsafe { asm!("vpcmpeqd ymm1, ymm1, ymm1", out("xmm1") _, options(nomem, nostack)) };
    Ok(())
}

fn tiles_live(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    if !state::request_amx() {
        return Err(KernelError::Refused("no AMX".to_owned()));
    }
    // SAFETY: the permission was just granted.
    unsafe { state::load_tile_config_for_tests() };
    Ok(())
}

fn x87_push(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    // SAFETY: none; an unbalanced stack is the fault being planted.
    unsafe { asm!("fld1", options(nomem, nostack)) };
    Ok(())
}

/// Leaves a changed state in its first call and the right one in the next.
fn leak_once(call: &mut Call<'_>) -> Result<(), KernelError> {
    copy(call)?;
    let is_first = CALLS.fetch_add(1, Ordering::Relaxed) == 0;
    state::set_mxcsr(if is_first { 0x9fc0 } else { state::MXCSR_DEFAULT });
    Ok(())
}

fn allocates(call: &mut Call<'_>) -> Result<(), KernelError> {
    black_box(vec![0u8; 100]);
    copy(call)
}

fn copy_workspace(call: &mut Call<'_>) -> Result<(), KernelError> {
    let mut y = call.outputs[0].rows_mut::<f32>()?;
    for (value, bytes) in y.row_mut(0).iter_mut().zip(call.workspace.chunks_exact(4)) {
        *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    Ok(())
}

fn count_threads(call: &mut Call<'_>) -> Result<(), KernelError> {
    let seen = AtomicU32::new(0);
    call.pool.run(call.threads, &|_| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    let mut y = call.outputs[0].rows_mut::<f32>()?;
    y.row_mut(0)[0] = seen.into_inner() as f32;
    y.row_mut(0)[1] = call.workspace.len() as f32;
    Ok(())
}

/// Leaves a child behind and its number in `y`.
fn fork_child(call: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: the child only sleeps.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
    }
    call.outputs[0].rows_mut::<f32>()?.row_mut(0)[0] = f32::from_bits(child.cast_unsigned());
    Ok(())
}

/// The same, with a child that leaves the worker's group and session.
fn fork_away(call: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: the child makes itself leader of a session and then only works for ever.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: changes the child's own session.
        unsafe { libc::setsid() };
        loop {
            std::hint::spin_loop();
        }
    }
    call.outputs[0].rows_mut::<f32>()?.row_mut(0)[0] = f32::from_bits(child.cast_unsigned());
    Ok(())
}

fn leave_thread(call: &mut Call<'_>) -> Result<(), KernelError> {
    let started = std::thread::Builder::new().spawn(|| -> () {
        loop {
            std::hint::spin_loop();
        }
    });
    started.map_err(|error| KernelError::Refused(error.to_string()))?;
    copy(call)
}

fn close_files(call: &mut Call<'_>) -> Result<(), KernelError> {
    // SAFETY: none; the worker's own socket is among them, which is the fault being planted.
    unsafe { libc::close_range(3, 1000, 0) };
    copy(call)
}
