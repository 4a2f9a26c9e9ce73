/* o = softmax(scale * q k^T) v for each query: a work-group has a query.

   The keys that the query sees come in blocks of LX. Each work-item has the score of one key of a
   block; then each has every LX-th column of the result, and what earlier blocks gave is scaled to
   the new greatest score. The result is summed in `o` itself, whose row this work-group alone has.
   A masked query sees the keys up to its own position, and of those the last `window`, or all where
   that is 0. */
kernel void rows(global const float *restrict q, int q_stride, global const float *restrict k,
                 int k_stride, global const float *restrict v, int v_stride,
                 global float *restrict o, int o_stride, int queries, int keys, int width,
                 int group, int is_masked, int window, float scale)
{
    local float weights[LX];
    local float found[LX];
    int item = get_local_id(0);
    size_t row = get_group_id(0);
    int query = row % queries;
    size_t first = (row / queries) / group * keys;
    q += row * q_stride;
    o += row * o_stride;
    k += first * k_stride;
    v += first * v_stride;
    int end = is_masked ? max(0, keys + query + 1 - queries) : keys;
    int start = window > 0 ? max(0, end - window) : 0;

    for (int c = item; c < width; c += LX)
        o[c] = 0.0f;
    float greatest = -INFINITY, total = 0.0f;
    for (int from = start; from < end; from += LX) {
        int seen = min(LX, end - from);
        float score = -INFINITY;
        if (item < seen) {
            score = 0.0f;
            for (int c = 0; c < width; c++)
                score += q[c] * k[(size_t)(from + item) * k_stride + c];
            score *= scale;
        }
        found[item] = score;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int half_way = LX / 2; half_way > 0; half_way /= 2) {
            if (item < half_way) {
                float other = found[item + half_way];
                found[item] = other > found[item] || isnan(other) ? other : found[item];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        float highest = found[0] > greatest || isnan(found[0]) ? found[0] : greatest;
        /* Nothing has been seen that counts: a shift by -infinity would make NaN of it. */
        float shift = highest == -INFINITY ? 0.0f : highest;
        float shrink = greatest == -INFINITY ? 0.0f : exp(greatest - shift);
        weights[item] = exp(score - shift);
        barrier(CLK_LOCAL_MEM_FENCE);

        float sum = 0.0f;
        for (int j = 0; j < seen; j++)
            sum += weights[j];
        total = total * shrink + sum;
        for (int c = item; c < width; c += LX) {
            float value = o[c] * shrink;
            for (int j = 0; j < seen; j++)
                value += weights[j] * v[(size_t)(from + j) * v_stride + c];
            o[c] = value;
        }
        greatest = isnan(greatest) ? greatest : highest;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int c = item; c < width; c += LX)
        o[c] = total == 0.0f ? 0.0f : o[c] / total;
}
