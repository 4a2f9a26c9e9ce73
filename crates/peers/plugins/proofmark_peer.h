/* The interface of a peer that is a shared library of its own, in C.
 *
 * The library exports `proofmark_peer`. Nothing is passed by value that may grow: structures
 * carry their size, and what a newer side adds at the end an older side does not read.
 */
#ifndef PROOFMARK_PEER_H
#define PROOFMARK_PEER_H

#include <stddef.h>
#include <stdint.h>

#define PROOFMARK_PEER_ABI 1

/* One operand. Rows (the last axis) are dense; from one to the next are `row_stride` elements. */
typedef struct {
    void *data;
    const char *dtype;   /* "f32", "bf16", "f16", "f64", "i8", ... */
    const size_t *shape;
    size_t dims;
    size_t row_stride;
} proofmark_operand;

/* One call. Operands that are only read come first, then those that are written. */
typedef struct {
    size_t size;                    /* bytes of this structure */
    const char *op;
    const char *dtype;
    size_t axes;
    const char *const *axis_names;
    const uint64_t *axis_sizes;
    size_t attributes;              /* those that the case names */
    const char *const *attribute_names;
    const char *const *attribute_values;
    size_t threads;
    size_t inputs;
    size_t outputs;
    const proofmark_operand *operands; /* null while only `supports` is asked */
    /* From here on only if `size` says that they are there. */
    /* All attributes of the op. In the same arrays, those that the case does not name follow the
     * ones that it names, with their default values. */
    size_t all_attributes;
} proofmark_call;

typedef struct {
    uint32_t abi;                   /* PROOFMARK_PEER_ABI */
    uint32_t size;                  /* bytes of this structure */
    const char *version;
    const char *build;              /* flags, features */
    const char *isa;                /* the instruction set it uses on this machine */
    /* 0 if it does the case, on which the calls are that follow; else the reason is written to
     * `why`, ending in 0. */
    int (*supports)(const proofmark_call *call, char *why, size_t why_bytes);
    /* Computes once; 0 if it did. */
    int (*run)(const proofmark_call *call, char *why, size_t why_bytes);
    /* Gives it another number of threads; null if it has one only. */
    void (*set_threads)(size_t threads);
    /* From here on only if `size` says that they are there. */
    /* Brings the last result into the operands, within the clock, for libraries that return
     * results in memory of their own; null if `run` writes into the operands. */
    int (*settle)(const proofmark_call *call, char *why, size_t why_bytes);
    /* Where results go then; null for the operands. */
    const char *memory;
} proofmark_peer_info;

/* Asked once, before anything else. */
const proofmark_peer_info *proofmark_peer(void);

#endif
