//! Wrong kernels in OpenCL, which the gate must refuse: right ones with one piece replaced.

/// A wrong kernel.
pub(crate) struct Mutant {
    pub(crate) op: &'static str,
    /// The kernel that it is made of.
    pub(crate) of: &'static str,
    pub(crate) name: &'static str,
    pub(crate) flaw: &'static str,
    /// What is replaced, which the source has, and what stands there instead.
    replaced: (&'static str, &'static str),
}

impl Mutant {
    /// The wrong source. In a file with several kernels the piece of this one is replaced.
    pub(crate) fn apply(&self, source: &str) -> String {
        let begins = source.find(&format!("kernel void {}(", self.of)).unwrap_or(0);
        let (before, own) = source.split_at(begins);
        format!("{before}{}", own.replacen(self.replaced.0, self.replaced.1, 1))
    }
}

/// The names and flaws of the wrong kernels of an op.
pub fn mutants_of(op: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    MUTANTS.iter().filter(move |mutant| mutant.op == op).map(|mutant| (mutant.name, mutant.flaw))
}

/// One line for each wrong kernel: its name, its flaw, and the replaced piece.
macro_rules! mutants {
    ($($op:literal $of:literal {
        $($name:literal: $flaw:literal, $from:literal => $to:literal;)*
    })*) => {
        &[$($(Mutant {
            op: $op,
            of: $of,
            name: concat!("opencl.", $name),
            flaw: $flaw,
            replaced: ($from, $to),
        },)*)*]
    };
}

/// Every wrong kernel.
pub(crate) const MUTANTS: &[Mutant] = mutants! {
    "add" "plain" {
        "no_tail": "writes whole work-groups", "if (i < length)" => "";
        "short_tail": "leaves the last column out", "i < length" => "i < length - 1";
        "subtracts": "subtracts", "+ y[" => "- y[";
        "scaled": "is 0.1 % too large", "x[row * x_stride + i] + y" => "1.001f * x[row * x_stride + i] + y";
        "neighbour": "adds the neighbour's element", "y[row * y_stride + i]" => "y[row * y_stride + max(i - 1, 0)]";
        "first_row": "adds the first row to every row", "y[row * y_stride + i]" => "y[i]";
        "dense": "takes padded rows for dense ones", "x[row * x_stride + i]" => "x[row * length + i]";
        "adds_up": "adds to what the result held", "z[row * z_stride + i] =" => "z[row * z_stride + i] +=";
        "drops_nan": "takes NaN for 0", "x[row * x_stride + i] + y" => "(isnan(x[row * x_stride + i]) ? 0.0f : x[row * x_stride + i]) + y";
    }
    "softmax" "rows" {
        "no_maximum": "does not subtract the maximum", "greatest = found[0];" => "greatest = 0.0f;";
        "missing_barrier": "joins sums before they are there", "found[item] += found[item + half_way];\n        barrier(CLK_LOCAL_MEM_FENCE);" => "found[item] += found[item + half_way];";
        "stale_local": "overwrites the maximum while others read it", "greatest = found[0];\n    barrier(CLK_LOCAL_MEM_FENCE);" => "greatest = found[0];";
        "half_tree": "leaves half of the sums out", "half_way = LX / 2; half_way > 0; half_way /= 2) {\n        if (item < half_way)\n            found" => "half_way = LX / 4; half_way > 0; half_way /= 2) {\n        if (item < half_way)\n            found";
        "short_sum": "leaves the last element out of the sum", "i < width; i += LX)\n        sum" => "i < width - 1; i += LX)\n        sum";
        "short_tail": "does not write the last element", "i < length; i += LX)" => "i < length - 1; i += LX)";
        "scaled": "is 0.1 % too large", "/ sum" => "/ sum * 1.001f";
        "undivided": "does not divide by the sum", "/ sum" => "";
        "base_two": "raises 2 to the elements", "sum += exp(x" => "sum += exp2(x";
        "mask_shifted": "masks one column too many", "+ 1 - rows" => "- rows";
        "mask_ignored": "sees every column", "rows > 0 ?" => "rows < 0 ?";
        "dense": "takes padded rows for dense ones", "x += row * x_stride" => "x += row * length";
    }
    "rms_norm" "rows" {
        "no_eps": "adds no eps", "/ length + eps" => "/ length";
        "eps_outside": "adds eps outside the root", "sqrt(sums[0] / length + eps)" => "(sqrt(sums[0] / length) + eps)";
        "no_root": "divides by the mean square", "sqrt(sums[0] / length + eps)" => "(sums[0] / length + eps)";
        "no_mean": "divides by the root of the sum", "sums[0] / length" => "sums[0]";
        "missing_barrier": "joins sums before they are there", "sums[item] += sums[item + half_way];\n        barrier(CLK_LOCAL_MEM_FENCE);" => "sums[item] += sums[item + half_way];";
        "half_tree": "leaves half of the sums out", "half_way = LX / 2" => "half_way = LX / 4";
        "short_sum": "leaves the last element out of the sum", "i < length; i += LX)\n        sum" => "i < length - 1; i += LX)\n        sum";
        "one_weight": "weights by the first weight", "(w[i] + one)" => "(w[0] + one)";
        "no_gemma": "never adds one to a weight", "(w[i] + one)" => "w[i]";
        "scaled": "is 0.1 % too large", "1.0f / sqrt" => "1.001f / sqrt";
        "no_tail": "writes whole work-groups", "i < length; i += LX)\n        y[i]" => "i < (length + LX - 1) / LX * LX; i += LX)\n        y[i]";
        "dense": "takes padded rows for dense ones", "y += row * y_stride" => "y += row * length";
    }
    "matmul" "tiled" {
        "short_k": "leaves the last term of a block out", "min(DEPTH, k - from)" => "min(DEPTH - 1, k - from)";
        "missing_barrier": "multiplies tiles before they are there", "        barrier(CLK_LOCAL_MEM_FENCE);\n        int terms" => "        int terms";
        "stale_local": "keeps the first tile of the right operand", "right[row][col] =" => "if (from == 0) right[row][col] =";
        "one_row": "multiplies the first of 4 rows four times", "left[y * ROWS + r][p]" => "left[y * ROWS][p]";
        "one_line": "multiplies the first columns for all", "vload16(x, right[p])" => "vload16(0, right[p])";
        "not_summed": "keeps the last term only", "line, sums[r])" => "line, (float16)(0.0f))";
        "never_transposed": "takes every right operand as k by n", "size_t place = is_transposed ?" => "size_t place = is_transposed < 0 ?";
        "one_batch": "multiplies by the first of the batch", "b += batch * b_rows * b_stride;" => "";
        "short_tail": "leaves the last column out", "j < n)\n                c" => "j < n - 1)\n                c";
        "no_tail": "writes whole tiles", "if (i < m && j < n)" => "if (i < m)";
        "dense": "takes padded rows for dense ones", "* c_stride + j" => "* n + j";
        "scaled": "is 0.1 % too large", "= line[q]" => "= line[q] * 1.001f";
    }
    "attention" "rows" {
        "no_scale": "does not scale scores", "score *= scale;" => "";
        "no_maximum": "does not subtract the maximum", "highest == -INFINITY ? 0.0f : highest" => "0.0f";
        "total_kept": "does not scale the sum to the new maximum", "total * shrink" => "total";
        "result_kept": "does not scale the result to the new maximum", "o[c] * shrink" => "o[c]";
        "missing_barrier": "reads weights before they are there", "weights[item] = exp(score - shift);\n        barrier(CLK_LOCAL_MEM_FENCE);" => "weights[item] = exp(score - shift);";
        "mask_shifted": "sees one key too few under a mask", "keys + query + 1 - queries" => "keys + query - queries";
        "mask_ignored": "sees every key", "is_masked ?" => "is_masked < 0 ?";
        "window_shifted": "sees one key too many in a window", "end - window)" => "end - window - 1)";
        "own_head": "takes a head of keys for each head of queries", "/ group * keys" => "* keys";
        "undivided": "does not divide by the sum", "o[c] / total" => "o[c]";
        "scaled": "is 0.1 % too large", "o[c] / total" => "o[c] / total * 1.001f";
        "nothing_is_nan": "gives NaN where no key is seen", "total == 0.0f ? 0.0f : o[c]" => "o[c]";
        "short_key": "leaves the last element of a key out", "c < width; c++)\n                score" => "c < width - 1; c++)\n                score";
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::IDEAS;
    use std::collections::BTreeSet;

    #[test]
    fn every_mutant_differs_from_the_kernel_that_it_is_made_of() {
        for mutant in MUTANTS {
            let of = |it: &&crate::contender::Idea| it.op == [mutant.op] && it.name == mutant.of;
            let source = IDEAS.iter().find(of).expect("the kernel exists").source;
            assert_ne!(mutant.apply(source), source, "{} {}", mutant.op, mutant.name);
        }
    }

    #[test]
    fn every_op_has_eight_mutants_with_names_of_their_own() {
        for idea in IDEAS {
            let names: Vec<_> = mutants_of(idea.op[0]).map(|(name, _)| name).collect();
            assert!(names.len() >= 8, "{}: {}", idea.op[0], names.len());
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        }
    }
}
