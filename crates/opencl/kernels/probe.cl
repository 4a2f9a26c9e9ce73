/* What a device can do at best: kernels that do nothing else. */

/* Eight chains of multiply-adds, so that none waits for itself. */
kernel void peak(global float *y, int rounds)
{
    float16 seed = (float16)(get_global_id(0) * 1e-9f);
    float16 a = seed, b = seed + 1.0f, c = seed + 2.0f, d = seed + 3.0f;
    float16 e = seed + 4.0f, f = seed + 5.0f, g = seed + 6.0f, h = seed + 7.0f;
    for (int round = 0; round < rounds; round++) {
        a = mad(a, 0.5f, seed);
        b = mad(b, 0.5f, seed);
        c = mad(c, 0.5f, seed);
        d = mad(d, 0.5f, seed);
        e = mad(e, 0.5f, seed);
        f = mad(f, 0.5f, seed);
        g = mad(g, 0.5f, seed);
        h = mad(h, 0.5f, seed);
    }
    float16 all = a + b + c + d + e + f + g + h;
    y[get_global_id(0)] = all.s0 + all.s5 + all.sa + all.sf;
}

/* Reads `count` vectors of each work-item, `rounds` times. Halving keeps rounds from being
   joined. */
kernel void stream(global const float16 *x, global float *y, int count, int rounds)
{
    x += get_global_id(0) * count;
    float16 a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i += 4) {
            a = mad(a, 0.5f, x[i]);
            b = mad(b, 0.5f, x[i + 1]);
            c = mad(c, 0.5f, x[i + 2]);
            d = mad(d, 0.5f, x[i + 3]);
        }
    }
    float16 all = a + b + c + d;
    y[get_global_id(0)] = all.s0 + all.s5 + all.sa + all.sf;
}

/* Writes every line, so that nothing else stays in the caches. */
kernel void sweep(global float16 *x, int count, float value)
{
    x += get_global_id(0) * count;
    for (int i = 0; i < count; i++)
        x[i] = value;
}

kernel void nothing(void) {}
