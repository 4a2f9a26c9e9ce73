//! Rust crates as peers: plug-ins that are built separately, so that their builds do not affect
//! ours.

use crate::peer::{FLUSHED, PLAIN};
use crate::{Found, Peer, Ready, Source, plugin};
use proofmark_contract::{ExplicitCase, Signature, Unsupported};
use proofmark_schema::{DType, ErrorContract};

/// What differs between the crates.
pub(crate) struct RustCrate {
    name: &'static str,
    summary: &'static str,
    ops: &'static [&'static str],
    dtypes: &'static [DType],
    files: &'static [(&'static str, &'static str)],
    feature: &'static str,
}

/// The files of a plug-in's folder; the interface lies beside the folder. The manifest has another
/// name here because Cargo leaves every folder with a `Cargo.toml` out of the package of `peers`.
macro_rules! files {
    ($folder:literal $(, $more:literal)*) => {
        &[
            ("Cargo.toml", include_str!(concat!("../plugins/", $folder, "/manifest.toml"))),
            ("Cargo.lock", include_str!(concat!("../plugins/", $folder, "/Cargo.lock"))),
            ("src/lib.rs", include_str!(concat!("../plugins/", $folder, "/src/lib.rs"))),
            ("../abi.rs", include_str!("../plugins/abi.rs")),
            $(($more, include_str!(concat!("../plugins/", $folder, "/", $more))),)*
        ]
    };
}

pub(crate) const GEMM: RustCrate = RustCrate {
    name: "gemm",
    summary: "the crate gemm as candle and others use it, without AVX-512",
    ops: &["matmul"],
    dtypes: &[DType::F32],
    files: files!("gemm"),
    feature: "",
};

pub(crate) const GEMM_AVX512: RustCrate = RustCrate {
    name: "gemm_avx512",
    summary: "the crate gemm with its feature for AVX-512",
    feature: "avx512",
    ..GEMM
};

pub(crate) const FAER: RustCrate = RustCrate {
    name: "faer",
    summary: "the crate faer, linear algebra in Rust",
    files: files!("faer"),
    ..GEMM
};

pub(crate) const MATRIXMULTIPLY: RustCrate = RustCrate {
    name: "matrixmultiply",
    summary: "the crate matrixmultiply, on which ndarray stands, with its threads",
    files: files!("matrixmultiply"),
    ..GEMM
};

pub(crate) const RUSTFFT: RustCrate = RustCrate {
    name: "rustfft",
    summary: "the crate rustfft, one thread; realfft on it for reals",
    ops: &["fft"],
    files: files!("rustfft"),
    ..GEMM
};

pub(crate) const CANDLE: RustCrate = RustCrate {
    name: "candle",
    summary: "the crates candle-core and candle-nn, tensors in Rust",
    ops: &["matmul", "rms_norm", "softmax", "silu", "add"],
    dtypes: &[DType::F32, DType::Bf16, DType::F16],
    files: files!("candle", ".cargo/config.toml"),
    feature: "",
};

impl Peer for RustCrate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn ops(&self) -> &'static [&'static str] {
        self.ops
    }

    fn source(&self) -> Source {
        Source::Crate { files: self.files, feature: self.feature }
    }

    /// The plug-in itself refuses attributes that its crate has no equal of.
    fn supports(&self, case: &ExplicitCase) -> Result<(), Unsupported> {
        match case.op.as_str() {
            "softmax" if case.word("mask")? != "none" => {
                return Err(Unsupported("it has no mask inside its softmax".to_owned()));
            }
            "matmul" => crate::blas::product_only(case)?,
            _ => {}
        }
        match self.dtypes.contains(&case.dtype) {
            true => Ok(()),
            false => Err(Unsupported(format!("it has no {}", case.dtype))),
        }
    }

    /// Candle loses subnormals in these ops; no other crate does.
    fn contract(&self, case: &ExplicitCase) -> ErrorContract {
        if matches!(case.op.as_str(), "silu" | "add") { FLUSHED } else { PLAIN }
    }

    fn open(&self, found: &Found) -> Result<(), String> {
        plugin::open(found).map(drop)
    }

    fn load(
        &self,
        found: &Found,
        case: &ExplicitCase,
        _: &Signature,
        threads: usize,
    ) -> Result<Ready, String> {
        plugin::load(found, case, threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::locked_version;
    use crate::trial::explicit;
    use crate::{PeerShelf, Tools, add, find};
    use proofmark_contract::Call;
    use proofmark_schema::{AttrValue, Case, Isa};
    use proofmark_tensor::{Layout, Pool, Tensor};
    use std::f64::consts::TAU;

    #[test]
    fn a_plug_in_has_the_version_of_its_crate_which_is_locked() {
        for peer in [GEMM, GEMM_AVX512, FAER, MATRIXMULTIPLY, RUSTFFT, CANDLE] {
            let text = |name| peer.files.iter().find(|file| file.0 == name).unwrap().1;
            let (manifest, lock) = (text("Cargo.toml"), text("Cargo.lock"));
            let version = locked_version(manifest, lock);
            assert!(manifest.contains(&format!("\nversion = \"{version}\"\n")), "{}", peer.name);
            assert!(manifest.contains(&format!("\"={version}\"")), "{}", peer.name);
            assert!(manifest.contains("\n[workspace]\n"), "{}", peer.name);
        }
    }

    /// Complex numbers, real and imaginary part in turn, through a peer and back.
    fn transformed(ready: &Ready, case: &Case, from: &mut [f32]) -> Vec<f32> {
        let mut to = vec![f32::NAN; from.len()];
        let tensor = |memory: &mut [f32], writable| {
            let layout = Layout::dense([memory.len() / 2, 2]);
            // SAFETY: memory of so many f32 that outlives the tensor and has no other user.
            unsafe { Tensor::from_raw(memory.as_mut_ptr().cast(), DType::F32, layout, writable) }
        };
        let mut call = Call {
            case,
            isa: Isa::Scalar,
            threads: 1,
            pool: &Pool::serial(),
            inputs: &[tensor(from, false)],
            outputs: &mut [tensor(&mut to, true)],
            workspace: &mut [],
            prepared: &[],
        };
        (ready.run)(&mut call).unwrap();
        to
    }

    /// X\[k\] = Σ x\[j\] · exp(∓2πi·jk/n), term by term; the inverse is divided by n.
    fn by_definition(from: &[f32], is_inverse: bool) -> Vec<f64> {
        let points = from.len() / 2;
        let (sign, scale) = if is_inverse { (1.0, points as f64) } else { (-1.0, 1.0) };
        let bin = |k: usize| {
            let terms = from.chunks_exact(2).enumerate().map(|(j, x)| {
                let (sin, cos) = (sign * TAU * (j * k) as f64 / points as f64).sin_cos();
                let (re, im) = (f64::from(x[0]), f64::from(x[1]));
                [re * cos - im * sin, re * sin + im * cos]
            });
            let sum = terms.fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]]);
            sum.map(|part| part / scale)
        };
        (0..points).flat_map(bin).collect()
    }

    #[test]
    #[ignore = "cargo gets and builds the plug-in, which takes a minute"]
    fn rustfft_transforms_two_lines_of_60_points_as_the_definition_does() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = PeerShelf::new(folder.path());
        let tools = Tools { python: "python3".into(), as_it_is: false, unlocked: false };
        add(&RUSTFFT, &shelf, &tools, &mut |_| {}).unwrap();
        let found = find(&RUSTFFT, &shelf).unwrap();
        let load = |case: &Case| RUSTFFT.load(&found, &explicit(case), &Signature::new(vec![]), 1);
        let lines = Case::new("fft", DType::F32).axis("b", 2).axis("z", 60);
        for direction in ["forward", "inverse"] {
            let case = lines.clone().attr("direction", AttrValue::Word(direction.to_owned()));
            let ready = load(&case).unwrap();
            assert_eq!(Some(&ready.receipt.version), found.version.as_ref());
            assert!(ready.set_threads.is_none(), "it has one thread");
            let mut from: Vec<f32> =
                (0..240).map(|i| ((i * i % 97) as f32 - 48.0) / 48.0).collect();
            let got = transformed(&ready, &case, &mut from);
            for (from, got) in from.chunks_exact(120).zip(got.chunks_exact(120)) {
                let exact = by_definition(from, direction == "inverse");
                let greatest = exact.iter().fold(0.0f64, |greatest, part| greatest.max(part.abs()));
                for (exact, &got) in exact.iter().zip(got) {
                    let error = (f64::from(got) - exact).abs();
                    assert!(error <= 1e-6 * greatest, "{direction}: {got}, not {exact}");
                }
            }
        }
        let plane = load(&lines.axis("y", 6)).err().unwrap();
        assert_eq!(plane, "its transforms are along one axis");
    }
}
