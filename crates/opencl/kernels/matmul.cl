/* c[i,j] = sum over p of a[i,p] * b[p,j], for each product of a batch.

   Rows of an operand lie `*_stride` elements apart. `b` is stored k by n, or n by k where
   `is_transposed` is set; from one product of the batch to the next it goes on by `b_rows` rows,
   0 where all share it. */

/* One work-item computes one element, and every operand comes from global memory. */
kernel void naive(global const float *restrict a, int a_stride, global const float *restrict b,
                  int b_stride, global float *restrict c, int c_stride, int m, int n, int k,
                  int b_rows, int is_transposed)
{
    int j = get_global_id(0), i = get_global_id(1);
    size_t batch = get_global_id(2);
    if (i >= m || j >= n)
        return;
    a += (batch * m + i) * a_stride;
    b += batch * b_rows * b_stride;
    size_t from = is_transposed ? (size_t)j * b_stride : j;
    size_t step = is_transposed ? 1 : b_stride;
    float sum = 0.0f;
    for (int p = 0; p < k; p++)
        sum += a[p] * b[from + p * step];
    c[(batch * m + i) * c_stride + j] = sum;
}

/* A work-group computes a tile of LY * 4 rows and LX * 16 columns. It brings a block of each operand
   into local memory, from which each work-item sums 4 rows of 16 columns in registers. */
#define ROWS 4
#define COLS 16
#define DEPTH 32

kernel void tiled(global const float *restrict a, int a_stride, global const float *restrict b,
                  int b_stride, global float *restrict c, int c_stride, int m, int n, int k,
                  int b_rows, int is_transposed)
{
    local float left[LY * ROWS][DEPTH];
    local float right[DEPTH][LX * COLS];
    int x = get_local_id(0), y = get_local_id(1);
    int top = get_group_id(1) * (LY * ROWS), edge = get_group_id(0) * (LX * COLS);
    size_t batch = get_global_id(2);
    int item = y * LX + x;
    a += batch * m * a_stride;
    b += batch * b_rows * b_stride;
    float16 sums[ROWS];
    for (int r = 0; r < ROWS; r++)
        sums[r] = 0.0f;

    for (int from = 0; from < k; from += DEPTH) {
        for (int at = item; at < LY * ROWS * DEPTH; at += LX * LY) {
            int i = top + at / DEPTH, p = from + at % DEPTH;
            left[at / DEPTH][at % DEPTH] = i < m && p < k ? a[(size_t)i * a_stride + p] : 0.0f;
        }
        for (int at = item; at < DEPTH * LX * COLS; at += LX * LY) {
            int row = is_transposed ? at % DEPTH : at / (LX * COLS);
            int col = is_transposed ? at / DEPTH : at % (LX * COLS);
            int p = from + row, j = edge + col;
            size_t place = is_transposed ? (size_t)j * b_stride + p : (size_t)p * b_stride + j;
            right[row][col] = p < k && j < n ? b[place] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int terms = min(DEPTH, k - from);
        for (int p = 0; p < terms; p++) {
            float16 line = vload16(x, right[p]);
            for (int r = 0; r < ROWS; r++)
                sums[r] = fma((float16)(left[y * ROWS + r][p]), line, sums[r]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < ROWS; r++) {
        int i = top + y * ROWS + r;
        float line[COLS];
        vstore16(sums[r], 0, line);
        for (int q = 0; q < COLS; q++) {
            int j = edge + x * COLS + q;
            if (i < m && j < n)
                c[(batch * m + i) * c_stride + j] = line[q];
        }
    }
}
