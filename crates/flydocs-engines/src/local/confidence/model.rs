//! The calibration: a logistic regression over the features, its weights in `data/confidence.txt`.

use std::sync::LazyLock;

use super::features::{Features, NAMES};

static WEIGHTS: LazyLock<[f64; NAMES.len()]> =
    LazyLock::new(|| parse(include_str!("../../../data/confidence.txt")));

/// One `name weight` a line; a feature without a line weighs nothing.
fn parse(text: &str) -> [f64; NAMES.len()] {
    let mut weights = [0.0; NAMES.len()];
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let Some((name, weight)) = line.split_once(' ') else {
            continue;
        };
        if let (Some(at), Ok(weight)) =
            (NAMES.iter().position(|n| *n == name), weight.trim().parse())
        {
            weights[at] = weight;
        }
    }
    weights
}

/// The probability that the value is right, two decimals, never quite 0 or 1.
pub(crate) fn confidence(features: &Features) -> f64 {
    let sum: f64 = features
        .0
        .iter()
        .zip(WEIGHTS.iter())
        .map(|(x, w)| x * w)
        .sum();
    let p = 1.0 / (1.0 + (-sum).exp());
    // A recognised value is not surer than its words.
    let p = p.min(1.0 - features.doubt());
    (p.clamp(0.01, 0.99) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::{NAMES, parse};

    #[test]
    fn every_feature_has_a_weight() {
        let text = include_str!("../../../data/confidence.txt");
        for name in NAMES {
            assert!(
                text.lines().any(|l| l.starts_with(&format!("{name} "))),
                "{name}"
            );
        }
    }

    #[test]
    fn lines_that_do_not_fit_weigh_nothing() {
        assert!(
            parse("bias x\nnothing 3\n")
                .iter()
                .all(|w| w.abs() < f64::EPSILON)
        );
    }
}
