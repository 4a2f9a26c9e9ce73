/* y = exp(x - max x) / sum exp(x - max x) along each row: a work-group has a row.

   Each work-item goes over every LX-th element, and a tree in local memory joins what they found.
   `y` may be `x`: a work-item writes only elements that no other reads. `rows` is the number of rows
   of a problem where row i of it sees the columns up to length - rows + i, and 0 where all are
   seen. */
kernel void rows(global const float *x, int x_stride, global float *y, int y_stride, int length,
                 int rows)
{
    local float found[LX];
    int item = get_local_id(0);
    size_t row = get_group_id(0);
    x += row * x_stride;
    y += row * y_stride;
    int width = rows > 0 ? max(0, length + (int)(row % rows) + 1 - rows) : length;

    /* NaN must stay, which fmax drops. */
    float greatest = -INFINITY;
    for (int i = item; i < width; i += LX)
        greatest = x[i] > greatest || isnan(x[i]) ? x[i] : greatest;
    found[item] = greatest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = LX / 2; half_way > 0; half_way /= 2) {
        if (item < half_way) {
            float other = found[item + half_way];
            found[item] = other > found[item] || isnan(other) ? other : found[item];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    greatest = found[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (int i = item; i < width; i += LX)
        sum += exp(x[i] - greatest);
    found[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = LX / 2; half_way > 0; half_way /= 2) {
        if (item < half_way)
            found[item] += found[item + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = found[0];

    for (int i = item; i < length; i += LX)
        y[i] = (i < width ? exp(x[i] - greatest) : 0.0f) / sum;
}
