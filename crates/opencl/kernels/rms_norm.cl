/* y = x * w / sqrt(mean of x squared + eps) along each row: a work-group has a row.

   Each work-item squares every LX-th element, and a tree in local memory joins the sums. `one` is
   added to every weight. */
kernel void rows(global const float *restrict x, int x_stride, global const float *restrict w,
                 global float *restrict y, int y_stride, int length, float eps, float one)
{
    local float sums[LX];
    int item = get_local_id(0);
    size_t row = get_group_id(0);
    x += row * x_stride;
    y += row * y_stride;

    float sum = 0.0f;
    for (int i = item; i < length; i += LX)
        sum += x[i] * x[i];
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = LX / 2; half_way > 0; half_way /= 2) {
        if (item < half_way)
            sums[item] += sums[item + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float scale = 1.0f / sqrt(sums[0] / length + eps);

    for (int i = item; i < length; i += LX)
        y[i] = x[i] * scale * (w[i] + one);
}
