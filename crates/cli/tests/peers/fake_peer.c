/* A peer that adds f32, and misbehaves as it was compiled to: -DWRONG, -DSLOW, -DDEAD, -DHANGING,
 * -DSPINNING, -DLINGERING. -DONCE is wrong where its own result already stands. Results after the
 * clock has stopped: -DHOMING copies them then, -DLATE computes them only then, -DDEFERRED in a
 * thread of its own, -DHOARDING keeps its inputs for that. -DEMPTY does only what has no elements,
 * and one case that no portfolio has. -DMEMO remembers the result of the inputs it saw last, by
 * their values, after it has seen them often; -DSTALE by their addresses, once calls have come so
 * fast that it is being timed. -DSTANDING returns at once where its output is no longer poisoned,
 * -DCLOSE replays its last result while calls follow within a microsecond, -DFIRST computes only
 * after a pause, -DEVERY every other time. -DSABOTAGE spoils the outputs while others are in turn.
 * -DCOMPILING writes code and calls it.
 * -DREACHING reads the memory of the process that started it, -DCURIOUS a file and a socket.
 * Without any it is right. */
#define _GNU_SOURCE
#include "proofmark_peer.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int supports(const proofmark_call *call, char *why, size_t why_bytes) {
    if (strcmp(call->op, "add") || strcmp(call->dtype, "f32") || call->attributes) {
        snprintf(why, why_bytes, "it only adds f32");
        return 1;
    }
#ifdef EMPTY
    size_t elements = 1;
    for (size_t axis = 0; axis < call->axes; axis++) {
        elements *= call->axis_sizes[axis];
    }
    if (elements && elements != 4096) {
        snprintf(why, why_bytes, "it does only what has no elements");
        return 1;
    }
#endif
    return 0;
}

#if defined(REACHING) || defined(CURIOUS)
__attribute__((constructor)) static void reach(void) {
#ifdef REACHING
    char byte;
    struct iovec ours = {&byte, 1}, theirs = {(void *)4096, 1};
    process_vm_readv(getppid(), &ours, 1, &theirs, 1, 0);
#else
    open("/etc/passwd", O_RDONLY);
    socket(AF_INET, SOCK_DGRAM, 0);
#endif
}
#endif

#ifdef COMPILING
/* A function that returns, written when it is first called. */
static void compile(void) {
    static void (*code)(void);
    if (!code) {
        code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *(unsigned char *)code = 0xc3;
    }
    code();
}
#endif

static void add(const proofmark_operand *operands) {
#ifdef COMPILING
    compile();
#endif
    size_t rows = 1, length = operands[0].shape[operands[0].dims - 1];
    for (size_t axis = 0; axis + 1 < operands[0].dims; axis++) {
        rows *= operands[0].shape[axis];
    }
    for (size_t row = 0; row < rows; row++) {
        const float *a = (const float *)operands[0].data + row * operands[0].row_stride;
        const float *b = (const float *)operands[1].data + row * operands[1].row_stride;
        float *c = (float *)operands[2].data + row * operands[2].row_stride;
        for (size_t column = 0; column < length; column++) {
#ifdef ONCE
            if (c[column] == a[column] + b[column]) {
                c[column] += 1;
                continue;
            }
#endif
            c[column] = a[column] + b[column];
        }
    }
#ifdef WRONG
    if (rows && length) {
        float *last = (float *)operands[2].data + (rows - 1) * operands[2].row_stride + length - 1;
        *last = *last * 1.001f + 1e-3f;
    }
#endif
}

#if defined(LINGERING) || defined(DEFERRED) || defined(STALE) || defined(CLOSE) || defined(FIRST) || \
    defined(SABOTAGE)
static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}
#endif

#if defined(LINGERING) || defined(DEFERRED)
/* A thread of a pool that looks for more work for 600 us after a call before it sleeps; the
 * deferred one does the call's work then. */
static sem_t work;
static atomic_long until;
static proofmark_operand later[3];

static void *linger(void *nothing) {
    for (;;) {
        sem_wait(&work);
        while (now() < until) {
        }
        while (!sem_trywait(&work)) {
        }
#ifdef DEFERRED
        add(later);
#endif
    }
    return nothing;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    sem_init(&work, 0, 0);
    pthread_create(&thread, NULL, linger, NULL);
}

static void set_threads(size_t threads) {
    (void)threads;
}
#endif

#if defined(HOMING) || defined(LATE) || defined(HOARDING)
#define SETTLES
static float kept[3][1 << 18];

/* The same call with some operands in memory of its own; dense, as the kept ones are. */
static void own(const proofmark_call *call, proofmark_operand *operands, size_t from, size_t to) {
    for (size_t i = 0; i < 3; i++) {
        operands[i] = call->operands[i];
        if (from <= i && i < to) {
            operands[i].data = kept[i];
        }
    }
}

static void copy(const proofmark_operand *to, const proofmark_operand *from) {
    size_t rows = 1, length = from->shape[from->dims - 1];
    for (size_t axis = 0; axis + 1 < from->dims; axis++) {
        rows *= from->shape[axis];
    }
    for (size_t row = 0; row < rows; row++) {
        memcpy((float *)to->data + row * to->row_stride,
               (const float *)from->data + row * from->row_stride, length * sizeof(float));
    }
}

static int settle(const proofmark_call *call, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
    proofmark_operand operands[3];
#ifdef HOMING
    own(call, operands, 2, 3);
    copy(&call->operands[2], &operands[2]);
#endif
#ifdef LATE
    (void)operands;
    (void)own;
    (void)copy;
    add(call->operands);
#endif
#ifdef HOARDING
    own(call, operands, 0, 2);
    for (unsigned again = 0; again < 2000; again++) {
        add(operands);
        __asm__ volatile("" ::: "memory");
    }
#endif
    return 0;
}
#endif

#if defined(STALE) || defined(CLOSE) || defined(FIRST)
/* When the call before was over. */
static long returned;
#endif

#ifdef SABOTAGE
/* When the call before was over, and where it left its result. */
static atomic_long over;
static _Atomic(float *) left;

static void *spoil(void *nothing) {
    for (;;) {
        usleep(20);
        float *output = left;
        if (output && now() - over > 30000) {
            *output = 1e30f;
        }
    }
    return nothing;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, spoil, NULL);
}
#endif

#if defined(STANDING) || defined(CLOSE) || defined(FIRST) || defined(EVERY)
/* Whether it does not do its work this time. */
static int skips(const proofmark_operand *operands) {
    float *first = operands[2].data;
#ifdef STANDING
    return *first == *first;
#endif
#if defined(CLOSE) || defined(FIRST)
    long gap = now() - returned;
#endif
#ifdef CLOSE
    static float *known;
    int is_known = known == first;
    known = first;
    return is_known && gap < 1000;
#endif
#ifdef FIRST
    (void)first;
    return gap < 5000;
#endif
#ifdef EVERY
    static unsigned calls;
    (void)first;
    return calls++ % 2;
#endif
}
#endif

#if defined(MEMO) || defined(STALE)
/* Slow, so that remembering pays: work on values that have not come often before. */
static int knows(const proofmark_operand *operands) {
    static uint64_t known;
    static unsigned often;
#ifdef MEMO
    uint64_t key = 1;
    size_t rows = 1, length = operands[0].shape[operands[0].dims - 1];
    for (size_t axis = 0; axis + 1 < operands[0].dims; axis++) {
        rows *= operands[0].shape[axis];
    }
    for (size_t at = 0; at < 2 * rows; at++) {
        const float *row =
            (const float *)operands[at % 2].data + at / 2 * operands[at % 2].row_stride;
        for (size_t column = 0; column < length; column++) {
            uint32_t bits;
            memcpy(&bits, row + column, sizeof bits);
            key = (key ^ bits) * 0x100000001b3;
        }
    }
    often = key == known ? often + 1 : 0;
    known = key;
    return often > 3;
#else
    uint64_t key = (uintptr_t)operands[0].data ^ (uintptr_t)operands[2].data << 1;
    /* As often in a row as only the clock of a race asks for; then for good. */
    often = key != known ? 0 : often > 8 ? often : now() - returned < 10000 ? often + 1 : 0;
    known = key;
    return often > 8;
#endif
}
#endif

static int run(const proofmark_call *call, char *why, size_t why_bytes) {
    (void)why;
    (void)why_bytes;
#ifdef LATE
    (void)call;
    return 0;
#endif
#ifdef HOMING
    proofmark_operand operands[3];
    own(call, operands, 2, 3);
    add(operands);
    return 0;
#endif
#ifdef HOARDING
    proofmark_operand operands[3];
    own(call, operands, 0, 2);
    copy(&operands[0], &call->operands[0]);
    copy(&operands[1], &call->operands[1]);
    return 0;
#endif
#ifdef DEAD
    abort();
#endif
#ifdef HANGING
    pause();
#endif
#if defined(MEMO) || defined(STALE)
    static float results[1 << 18];
    proofmark_operand result = call->operands[2];
    size_t bytes = sizeof(float);
    for (size_t axis = 0; axis < result.dims; axis++) {
        bytes *= result.shape[axis];
    }
    int is_dense = result.row_stride == result.shape[result.dims - 1];
    if (is_dense && bytes <= sizeof results) {
        if (knows(call->operands)) {
            memcpy(result.data, results, bytes);
            return 0;
        }
        /* A slice must have more such calls than it takes to be stale, on a slow processor too. */
        for (volatile unsigned work = 0; work < 4000; work++) {
        }
        add(call->operands);
        memcpy(results, result.data, bytes);
#ifdef STALE
        returned = now();
#endif
        return 0;
    }
#endif
#if defined(STANDING) || defined(CLOSE) || defined(FIRST) || defined(EVERY)
    size_t elements = 1;
    for (size_t axis = 0; axis < call->operands[2].dims; axis++) {
        elements *= call->operands[2].shape[axis];
    }
    if (elements && skips(call->operands)) {
#if defined(CLOSE) || defined(FIRST)
        returned = now();
#endif
        return 0;
    }
#endif
#ifndef DEFERRED
    add(call->operands);
#endif
#if defined(CLOSE) || defined(FIRST)
    returned = now();
#endif
#ifdef SABOTAGE
    left = call->operands[2].data;
    over = now();
#endif
#if defined(LINGERING) || defined(DEFERRED)
    memcpy(later, call->operands, sizeof later);
    until = now() + 600000;
    sem_post(&work);
#endif
#ifdef SLOW
    for (volatile unsigned work = 0; work < 20000; work++) {
    }
#endif
    return 0;
}

#ifdef SPINNING
static void *spin(void *nothing) {
    for (volatile unsigned work = 0;; work++) {
    }
    return nothing;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
}
#endif

const proofmark_peer_info *proofmark_peer(void) {
    static const proofmark_peer_info info = {
        .abi = PROOFMARK_PEER_ABI,
        .size = sizeof info,
        .version = "1.0",
        .build = "by a test",
        .isa = "of the compiler",
        .supports = supports,
        .run = run,
#if defined(LINGERING) || defined(DEFERRED)
        .set_threads = set_threads,
#endif
#ifdef SETTLES
        .settle = settle,
        .memory = "results in memory of its own",
#endif
    };
    return &info;
}
