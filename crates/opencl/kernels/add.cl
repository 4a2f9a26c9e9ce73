/* z = x + y, one work-item an element: dimension 0 goes along a row, dimension 1 over the rows.

   `z` may be `x`: a work-item reads its element before it writes it, and no other touches it. */
kernel void plain(global const float *x, int x_stride, global const float *y, int y_stride,
                  global float *z, int z_stride, int length)
{
    int i = get_global_id(0);
    size_t row = get_global_id(1);
    if (i < length)
        z[row * z_stride + i] = x[row * x_stride + i] + y[row * y_stride + i];
}
