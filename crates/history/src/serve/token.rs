//! Signed tokens of CI systems (OpenID Connect).
//!
//! `jsonwebtoken` takes tokens apart and checks issuer, audience and times. The signature is
//! checked by `ring`, and nothing but RS256 and ES256 is known here, so that no header of a token
//! can ask for anything else.

use super::access::{Grant, Scope, unfit};
use crate::HistoryError;
use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, Validation};
use ring::signature as ring_signature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The longest life of a token in seconds: that of GitHub's.
const LONGEST: i64 = 900;

/// How far clocks may differ, in seconds.
const LEEWAY: u64 = 30;

/// Events of GitHub that run the code of a fork with the rights of the repository.
const REFUSED_EVENTS: [&str; 2] = ["pull_request_target", "workflow_run"];

/// A CI system that signs tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// `iss` of its tokens.
    pub issuer: String,
    /// `aud` that tokens must have been made for.
    pub audience: String,
    /// File of its public keys (RFC 7517), relative to the file of keys and issuers.
    pub jwks: String,
    /// What tokens may do: the first rule that fits counts.
    pub rules: Vec<Rule>,
}

/// What tokens with certain claims may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Claims that a token must have, and their values; there is at least one.
    pub claims: BTreeMap<String, String>,
    /// What such a token may do.
    pub scope: Scope,
}

/// The issuers with their public keys.
pub(super) struct Issuers(Vec<(Issuer, JwkSet)>);

/// The claims that every token must have, and all others.
#[derive(Debug, Deserialize)]
struct Claims {
    exp: i64,
    iat: i64,
    jti: String,
    sub: String,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

impl Claims {
    fn text(&self, name: &str) -> Option<&str> {
        match name {
            "sub" => Some(&self.sub),
            _ => self.others.get(name)?.as_str(),
        }
    }

    fn fit(&self, rule: &Rule) -> bool {
        rule.claims.iter().all(|(name, value)| self.text(name) == Some(value))
    }
}

impl Issuers {
    pub(super) fn read(issuers: Vec<Issuer>, folder: &Path) -> Result<Issuers, HistoryError> {
        // A second call finds the provider of the first, which is the same.
        let _ = PROVIDER.install_default();
        let mut read = Vec::new();
        for issuer in issuers {
            let path = folder.join(&issuer.jwks);
            let text = std::fs::read(&path).map_err(HistoryError::io("read", &path))?;
            let set = serde_json::from_slice(&text).map_err(|error| unfit(&path, &error))?;
            if issuer.rules.iter().any(|rule| rule.claims.is_empty()) {
                let what = format!("a rule of {} has no claims", issuer.issuer);
                return Err(HistoryError::Usage(format!("{what}: it would fit every token")));
            }
            read.push((issuer, set));
        }
        Ok(Issuers(read))
    }

    pub(super) fn grant(&self, token: &str, now: i64) -> Option<Grant> {
        let header = jsonwebtoken::decode_header(token).ok()?;
        let kid = header.kid?;
        self.0.iter().find_map(|(issuer, set)| {
            let jwk = set.find(&kid)?;
            let algorithm = algorithm(jwk)?;
            let mut rules = Validation::new(algorithm);
            rules.set_issuer(&[&issuer.issuer]);
            rules.set_audience(&[&issuer.audience]);
            rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
            rules.validate_nbf = true;
            rules.leeway = LEEWAY;
            let key = DecodingKey::from_jwk(jwk).ok()?;
            let claims = jsonwebtoken::decode::<Claims>(token, &key, &rules).ok()?.claims;
            scope_of(issuer, &claims, now)
        })
    }
}

fn scope_of(issuer: &Issuer, claims: &Claims, now: i64) -> Option<Grant> {
    let life = claims.exp.checked_sub(claims.iat)?;
    let is_timely = (0..=LONGEST).contains(&life) && claims.iat <= now.checked_add(60)?;
    let is_refused = claims.text("event_name").is_some_and(|name| REFUSED_EVENTS.contains(&name));
    if !is_timely || is_refused || claims.jti.is_empty() {
        return None;
    }
    let rule = issuer.rules.iter().find(|rule| claims.fit(rule))?;
    Some(Grant {
        holder: format!("{} {}", issuer.issuer, claims.sub),
        scope: rule.scope.clone(),
        token: Some((format!("{} {}", issuer.issuer, claims.jti), claims.exp)),
    })
}

/// The one algorithm that a public key is for.
fn algorithm(jwk: &Jwk) -> Option<Algorithm> {
    match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Some(Algorithm::RS256),
        AlgorithmParameters::EllipticCurve(of) if of.curve == EllipticCurve::P256 => {
            Some(Algorithm::ES256)
        }
        _ => None,
    }
}

/// Checks of signatures by `ring`. Nothing is ever signed here.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: |algorithm, key| match algorithm {
        Algorithm::RS256 | Algorithm::ES256 => {
            Ok(Box::new(Checker { algorithm: *algorithm, key: key.clone() }))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

struct Checker {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for Checker {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match (self.algorithm, self.key.kind()) {
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = ring_signature::RsaPublicKeyComponents { n, e };
                key.verify(&ring_signature::RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => {
                let kind = &ring_signature::ECDSA_P256_SHA256_FIXED;
                ring_signature::UnparsedPublicKey::new(kind, point).verify(message, signature)
            }
            _ => return Err(signature::Error::new()),
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Checker {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
