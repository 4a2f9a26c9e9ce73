//! Rust crates as peers: plug-ins built apart, so that nothing of theirs leaks into ours.

use crate::peer::{FLUSHED, PLAIN};
use crate::{Found, Peer, Ready, Source, plugin};
use proofmark_contract::{Signature, Unsupported};
use proofmark_schema::{Case, DType, ErrorContract};

/// What differs between the crates.
pub(crate) struct RustCrate {
    name: &'static str,
    summary: &'static str,
    ops: &'static [&'static str],
    dtypes: &'static [DType],
    files: &'static [(&'static str, &'static str)],
    feature: &'static str,
}

/// The files of a plug-in's folder; the interface lies beside the folder.
macro_rules! files {
    ($folder:literal $(, $more:literal)*) => {
        &[
            ("Cargo.toml", include_str!(concat!("../plugins/", $folder, "/Cargo.toml"))),
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
    fn supports(&self, case: &Case) -> Result<(), Unsupported> {
        if case.word("mask", "none") != "none" {
            return Err(Unsupported("it has no mask inside its softmax".to_owned()));
        }
        if case.op == "matmul" {
            crate::blas::product_only(case)?;
        }
        match self.dtypes.contains(&case.dtype) {
            true => Ok(()),
            false => Err(Unsupported(format!("it has no {}", case.dtype))),
        }
    }

    /// Where candle loses subnormals; the others only multiply matrices.
    fn contract(&self, case: &Case) -> ErrorContract {
        if matches!(case.op.as_str(), "silu" | "add") { FLUSHED } else { PLAIN }
    }

    fn load(
        &self,
        found: &Found,
        case: &Case,
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

    #[test]
    fn a_plug_in_has_the_version_of_its_crate_which_is_locked() {
        for peer in [GEMM, GEMM_AVX512, FAER, MATRIXMULTIPLY, CANDLE] {
            let text = |name| peer.files.iter().find(|file| file.0 == name).unwrap().1;
            let (manifest, lock) = (text("Cargo.toml"), text("Cargo.lock"));
            let version = locked_version(manifest, lock);
            assert!(manifest.contains(&format!("\nversion = \"{version}\"\n")), "{}", peer.name);
            assert!(manifest.contains(&format!("\"={version}\"")), "{}", peer.name);
            assert!(manifest.contains("\n[workspace]\n"), "{}", peer.name);
        }
    }
}
