//! Tokens of a CI system: honest ones are accepted, and a thousand forged or expired ones are not.

use crate::support::{Made, json, post, run, seconds};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proofmark_history::serve::access::{AccessFile, Scope};
use proofmark_history::serve::token::{Issuer, Rule};
use proofmark_stats::Stream;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512,
    RsaKeyPair,
};
use serde_json::{Value, json};

/// An RSA key that is used by this test and nowhere else.
const RSA: &[u8] = include_bytes!("fixtures/rs256.der");

const ISSUER: &str = "https://ci.example";

/// Everything that signs.
struct Keys {
    rsa: RsaKeyPair,
    ours: EcdsaKeyPair,
    /// A key of the same kind that the server does not know.
    other: EcdsaKeyPair,
    jwks: Value,
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn new_key() -> EcdsaKeyPair {
    let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let der = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(kind, der.as_ref(), &random).unwrap()
}

impl Keys {
    fn new() -> Keys {
        let rsa = RsaKeyPair::from_der(RSA).unwrap();
        let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(rsa.public());
        let ours = new_key();
        let point = ours.public_key().as_ref().to_vec();
        let jwks = json!({ "keys": [
            { "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa",
              "n": base64(public.n), "e": base64(public.e) },
            { "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "ec",
              "x": base64(&point[1..33]), "y": base64(&point[33..65]) },
        ] });
        Keys { rsa, ours, other: new_key(), jwks }
    }

    fn sign_rsa(&self, text: &str, padding: &'static dyn ring::signature::RsaEncoding) -> String {
        let mut signature = vec![0; self.rsa.public().modulus_len()];
        self.rsa.sign(padding, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
        base64(signature)
    }

    fn sign_ec(text: &str, key: &EcdsaKeyPair) -> String {
        base64(key.sign(&SystemRandom::new(), text.as_bytes()).unwrap())
    }

    /// A token that is right, by one of the two keys.
    fn token(&self, claims: &Value, with_rsa: bool) -> String {
        let (algorithm, kid) = if with_rsa { ("RS256", "rsa") } else { ("ES256", "ec") };
        let text = unsigned(algorithm, Some(kid), claims);
        let signature = match with_rsa {
            true => self.sign_rsa(&text, &RSA_PKCS1_SHA256),
            false => Keys::sign_ec(&text, &self.ours),
        };
        format!("{text}.{signature}")
    }
}

/// Header and claims of a token.
fn unsigned(algorithm: &str, kid: Option<&str>, claims: &Value) -> String {
    let header = json!({ "alg": algorithm, "typ": "JWT", "kid": kid }).to_string();
    format!("{}.{}", base64(header), base64(claims.to_string()))
}

fn claims(id: &str) -> Value {
    let now = seconds();
    json!({
        "iss": ISSUER, "aud": "proofmark", "sub": "repo:o/r:ref:refs/heads/main",
        "exp": now + 600, "nbf": now - 5, "iat": now - 5, "jti": id,
        "repository_id": "4711", "ref": "refs/heads/main", "event_name": "push",
    })
}

/// Claims with one value that is wrong, or that is not there.
fn spoiled(id: &str, name: &str, value: Value) -> Value {
    let mut claims = claims(id);
    let object = claims.as_object_mut().unwrap();
    match value {
        Value::Null => drop(object.remove(name)),
        value => drop(object.insert(name.to_owned(), value)),
    }
    claims
}

/// A forged token of a kind, and what is wrong with it.
fn forged(keys: &Keys, kind: usize, id: &str, random: &mut Stream) -> (String, String) {
    let now = seconds();
    let with_rsa = random.uniform() < 0.5;
    let wrong_claims = [
        ("iss", json!("https://ci.example.attacker")),
        ("iss", Value::Null),
        ("aud", json!("another")),
        ("aud", json!(["another", "third"])),
        ("aud", Value::Null),
        ("exp", json!(now - 60 - (random.uniform() * 1e6) as i64)),
        ("exp", json!(now + 86_400)),
        ("exp", json!((now + 600).to_string())),
        ("exp", Value::Null),
        ("nbf", json!(now + 300)),
        ("iat", json!(now + 300)),
        ("iat", Value::Null),
        ("jti", json!("")),
        ("jti", Value::Null),
        ("sub", Value::Null),
        ("repository_id", json!("4712")),
        ("repository_id", json!(4711)),
        ("repository_id", Value::Null),
        ("event_name", json!("pull_request_target")),
        ("event_name", json!("workflow_run")),
    ];
    let good = claims(id);
    if let Some((name, value)) = wrong_claims.get(kind) {
        let token = keys.token(&spoiled(id, name, value.clone()), with_rsa);
        return (token, format!("{name} is {value}"));
    }
    let real = keys.token(&good, with_rsa);
    let parts: Vec<&str> = real.split('.').collect();
    let (head, body, signature) = (parts[0], parts[1], parts[2]);
    let place = (random.uniform() * 32.0) as usize;
    let changed = |text: &str, place: usize| {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        bytes[place] ^= 1 << (place % 7);
        base64(bytes)
    };
    let unknown = |algorithm: &str, kid: Option<&str>| unsigned(algorithm, kid, &good);
    let token = match kind - wrong_claims.len() {
        0 => format!("{}.", unknown("none", Some("ec"))),
        1 => format!("{}.{signature}", unknown("none", Some("rsa"))),
        2 => {
            let text = unknown("ES256", Some("ec"));
            format!("{text}.{}", Keys::sign_ec(&text, &keys.other))
        }
        3 => {
            // The public keys as the secret of a symmetric signature.
            let text = unknown("HS256", Some("rsa"));
            let secret = keys.jwks.to_string();
            let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
            format!("{text}.{}", base64(ring::hmac::sign(&key, text.as_bytes())))
        }
        4 => {
            let text = unknown("RS512", Some("rsa"));
            format!("{text}.{}", keys.sign_rsa(&text, &RSA_PKCS1_SHA512))
        }
        5 => {
            let text = unknown("ES256", Some("rsa"));
            format!("{text}.{}", Keys::sign_ec(&text, &keys.ours))
        }
        6 => {
            let text = unknown("RS256", Some("unknown"));
            format!("{text}.{}", keys.sign_rsa(&text, &RSA_PKCS1_SHA256))
        }
        7 => {
            let text = unknown("RS256", None);
            format!("{text}.{}", keys.sign_rsa(&text, &RSA_PKCS1_SHA256))
        }
        8 => {
            let other = base64(spoiled(id, "jti", json!("another")).to_string());
            format!("{head}.{other}.{signature}")
        }
        9 => format!("{head}.{body}.{}", changed(signature, place)),
        10 => format!("{head}.{}.{signature}", changed(body, place)),
        11 => format!("{head}.{body}."),
        12 => format!("{head}.{body}"),
        13 => real[..real.len() - 2 - place].to_owned(),
        _ => format!("{real}.{signature}"),
    };
    (token, format!("kind {}", kind - wrong_claims.len()))
}

/// Kinds of forgery.
const KINDS: usize = 20 + 15;

fn served(keys: &Keys) -> Made {
    let made = Made::new();
    std::fs::write(made.folder.path().join("jwks.json"), keys.jwks.to_string()).unwrap();
    let rule = |pairs: &[(&str, &str)], scope| Rule {
        claims: pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        scope,
    };
    let repository = ("repository_id", "4711");
    let issuer = Issuer {
        issuer: ISSUER.to_owned(),
        audience: "proofmark".to_owned(),
        jwks: "jwks.json".to_owned(),
        rules: vec![
            rule(&[repository, ("ref", "refs/heads/main")], Scope::Append(String::new())),
            rule(&[repository], Scope::Quarantine),
        ],
    };
    made.write(&AccessFile { keys: Vec::new(), issuers: vec![issuer] });
    made
}

#[test]
fn of_a_thousand_forged_or_expired_tokens_none_is_accepted() {
    let keys = Keys::new();
    let made = served(&keys);
    let server = made.serve(&[]);
    let mut random = Stream::new(22);
    let mut honest = Vec::new();
    for number in 0..1000 {
        let id = format!("token-{number}");
        let (token, what) = forged(&keys, number % KINDS, &id, &mut random);
        let answer = post(server.address, &token, &json(&run(number)));
        assert_eq!(answer.status, 401, "{what}: {}", answer.body);
        if number % 50 == 0 {
            // The same claims, signed as they should be, are accepted.
            let token = keys.token(&claims(&id), number % 100 == 0);
            let answer = post(server.address, &token, &json(&run(5000 + number)));
            assert_eq!(answer.status, 200, "{}", answer.body);
            honest.push(format!("run{:05}", 5000 + number));
        }
    }
    assert_eq!(made.stored(), honest);
}

#[test]
fn a_token_is_good_for_one_run_and_its_claims_decide_where_that_goes() {
    let keys = Keys::new();
    let made = served(&keys);
    let server = made.serve(&[]);
    let token = keys.token(&claims("one"), true);
    let status = |token: &str, number| post(server.address, token, &json(&run(number))).status;
    assert_eq!(status(&token, 1), 200);
    assert_eq!(status(&token, 1), 200, "the answer may have been lost");
    assert_eq!(status(&token, 2), 401, "another run");
    let fork = keys.token(&spoiled("two", "ref", json!("refs/pull/7/merge")), false);
    assert_eq!(status(&fork, 3), 200);
    assert_eq!(made.stored(), ["run00001"], "the run of the fork is kept apart");
}
