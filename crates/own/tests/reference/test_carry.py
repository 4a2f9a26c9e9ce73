import math
import unittest

from support import U
import proofmark_carry as carry
import torch
import torch.nn.functional as F


def one(call, *inputs, u=U, seed=3):
    truths, mode = carry.truth(call, list(inputs), u, seed)
    return truths[0], mode


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Values(unittest.TestCase):
    def test_value_is_that_of_f64(self):
        x = randn(5, 7)
        for f in (lambda x: torch.softmax(x, -1), lambda x: F.layer_norm(x, (7,)), F.gelu, F.silu, F.mish, F.elu,
                  lambda x: x.std(0), lambda x: torch.logsumexp(x, (0, 1)), lambda x: x.norm(dim=1),
                  lambda x: F.hardswish(x), lambda x: torch.cdist(x, x.flip(0)), lambda x: F.instance_norm(x[None]),
                  lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])):
            got, _ = one(f, x)
            self.assertTrue(torch.allclose(got.value, f(x.double()), rtol=1e-12, atol=1e-14))

    def test_seed_decides_the_scale(self):
        x = randn(8, 8)
        same, again = one(torch.exp, x)[0].scale, one(torch.exp, x)[0].scale
        self.assertTrue(torch.equal(same, again))
        self.assertFalse(torch.equal(same, one(torch.exp, x, seed=4)[0].scale))

    def test_earlier_runs_do_not_matter(self):
        x = randn(512, 600)
        first = one(torch.exp, x)[0].scale
        one(lambda x: x.expand(16, 512, 600).sin(), x)
        self.assertTrue(torch.equal(first, one(torch.exp, x)[0].scale))

    def test_in_place_writes_reach_every_view(self):
        def looped(x):
            y = torch.zeros_like(x)
            y[:, 0] = x[:, 0]
            for i in range(1, x.shape[1]):
                y[:, i] = 0.3 * y[:, i - 1] + x[:, i]
            view = y.t()[1:3]
            view.mul_(3)
            return y
        x = randn(4, 6)
        got, _ = one(looped, x)
        self.assertTrue(torch.equal(got.value, looped(x.double())))
        self.assertTrue(bool((got.scale[:, 1:] > 0).all()))
        self.assertTrue(bool((got.scale[:, 0] == 0).all()))

    def test_inputs_are_not_changed(self):
        x = randn(4)
        kept = x.clone()
        one(lambda x: x.mul_(2).add_(x), x)
        self.assertTrue(torch.equal(x, kept))

    def test_views_change_shapes_in_place(self):
        def f(x):
            y = x * 1.1
            y.unsqueeze_(1)
            y.squeeze_(1)
            y.t_()
            return y + 1
        x = randn(3, 4)
        self.assertTrue(torch.equal(one(f, x)[0].value, f(x.double())))


class Scales(unittest.TestCase):
    def test_moved_and_selected_elements_are_exact(self):
        x = randn(6, 6)
        for f in (lambda x: x.t().contiguous(), lambda x: x.amax(1), torch.relu, lambda x: torch.cat((x, x), 1),
                  lambda x: x.sort(1).values, lambda x: -x.abs(), lambda x: x * 2):
            self.assertEqual(float(one(f, x)[0].scale.max()), 0.0)

    def test_product_has_the_scale_of_its_terms(self):
        a, b = randn(24, 256), randn(256, 24, seed=1)
        got, mode = one(lambda a, b: a @ b, a, b)
        ratio = got.scale / (a.double().abs() @ b.double().abs())
        self.assertGreater(float(ratio.min()), 0.5)
        self.assertLess(float(ratio.max()), 3.0)
        self.assertEqual(mode.terms, 256)

    def test_sum_of_one_sign_grows_with_the_root_of_its_length(self):
        x = torch.rand(64, 1024, generator=torch.Generator().manual_seed(1))
        got, _ = one(lambda x: x.sum(1), x)
        ratio = float((got.scale / x.double().sum(1)).mean())
        self.assertGreater(ratio, 6.0)
        self.assertLess(ratio, 15.0)

    def test_the_amplitude_does_not_matter_where_a_function_is_smooth(self):
        kept, scales = carry.AMPLITUDE, []
        x = randn(32, 32)
        try:
            for carry.AMPLITUDE in (1.0, kept):
                scales.append(one(lambda x: torch.softmax(x, -1), x)[0].scale)
        finally:
            carry.AMPLITUDE = kept
        self.assertLess(float((scales[0] / scales[1]).log().abs().max()), 1e-3)

    def test_large_inputs_have_the_same_scale(self):
        x = randn(512, 300)
        got, _ = one(lambda x: torch.softmax(x, -1), x)
        part, _ = one(lambda x: torch.softmax(x, -1), x[:64])
        self.assertLess(abs(float((got.scale[:64] / part.scale).log().mean())), 0.05)

    def test_a_jump_close_by_widens_the_scale(self):
        at = torch.tensor([0.5, 2.5, 0.5 + 2.0 ** -23, 0.3, 2.2])
        got, _ = one(lambda x: torch.round(x * 3 / 3), at)
        self.assertTrue(bool((got.scale[:3] * U * 16 >= 1).all()))
        self.assertTrue(bool((got.scale[3:] == 0).all()))

    def test_a_tie_in_top_k_may_go_either_way(self):
        x = torch.tensor([1.0, 3.0, 3.0, 0.0, 3.0])
        got, _ = one(lambda x: torch.topk(x, 2).indices.double(), x)
        self.assertGreater(float(got.scale.min()), 0.0)
        clear, _ = one(lambda x: torch.topk(x, 2).indices.double(), torch.tensor([1.0, 3.0, 2.0, 0.0]))
        self.assertEqual(float(clear.scale.max()), 0.0)

    def test_a_result_that_cancels_exactly_has_a_scale(self):
        got, _ = one(lambda x: (y := x * 1.1) - y.mean(1, keepdim=True), randn(8, 1))
        self.assertTrue(bool((got.value == 0).all()))
        self.assertTrue(bool((got.scale > 0).all()))

    def test_integers_stay_integers(self):
        x = torch.rand(4, 5, generator=torch.Generator().manual_seed(2)) * 9
        got, _ = one(lambda x: x.gather(1, (torch.floor(x / 3) + 1).long()), x)
        self.assertLess(float(got.scale.max()), 1e3)

    def test_a_subnormal_of_a_library_may_be_flushed(self):
        x = torch.tensor([-95.0])
        got, _ = one(F.silu, x)
        self.assertGreater(float(U * got.scale[0] * 16), abs(float(got.value[0])))

    def test_depth_does_not_widen_the_scale_without_end(self):
        weights = [randn(48, 48, seed=i) / math.sqrt(48) for i in range(6)]

        def network(x, *weights):
            for w in weights:
                x = torch.tanh(x @ w)
            return x
        got, _ = one(network, randn(16, 48, seed=9), *weights)
        self.assertLess(float(got.scale.median()) * U, 1e-5)

    def test_16_bit_casts_are_noise_and_f32_casts_nothing(self):
        x = randn(16, 16)
        self.assertEqual(float(one(lambda x: x.float(), x)[0].scale.max()), 0.0)
        got, mode = one(lambda x: x.bfloat16().float(), x)
        ratio = got.scale * U / x.double().abs()
        self.assertGreater(float(ratio.mean()), 2.0 ** -9)
        self.assertLess(float(ratio.max()), 2.0 ** -6)
        self.assertIn("coarse", mode.notes)

    def test_special_values_are_those_of_f64(self):
        x = torch.tensor([[1.0, math.nan, 2.0], [math.inf, 0.0, 1.0], [1.0, 2.0, 3.0]])
        got, _ = one(lambda x: torch.softmax(x, -1), x)
        self.assertTrue(bool(got.value[:2].isnan().all()) and bool(got.value[2].isfinite().all()))
        self.assertTrue(bool((got.scale[:2] == 1).all()))


class Refusals(unittest.TestCase):
    def test_random_numbers_are_refused(self):
        with self.assertRaises(carry.Unknown) as e:
            one(lambda x: F.dropout(x), randn(4))
        self.assertIn("bernoulli", e.exception.name)

    def test_an_unknown_primitive_is_refused_by_name(self):
        with self.assertRaises(carry.Unknown) as e:
            one(lambda x: torch.linalg.eigh(x)[0], torch.eye(3))
        self.assertIn("eigh", e.exception.name)

    def test_a_list_of_primitives_goes_on(self):
        _, mode = carry.truth(lambda x: F.dropout(x).exp(), [randn(4)], U, lists=True)
        self.assertEqual(list(mode.unknown), ["aten.bernoulli_.float"])
        self.assertIn("aten.exp", mode.primitives)

    def test_errors_tell_of_the_reference_s_own_shapes(self):
        with self.assertRaisesRegex(RuntimeError, r"\(4x4 and 8x4\)"):
            one(lambda x: x @ x.T @ x.T, randn(4, 8))


if __name__ == "__main__":
    unittest.main()
