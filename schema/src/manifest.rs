//! The manifest of a `.cbin`: what it is, what it was made from, what was measured.
//!
//! Everything in it is reproducible: same evidence, contract, passes and options, same
//! bytes. Figures are measured or `None`, never projected. Canonical FlatBuffers
//! (`manifest.fbs`), like the graph: one manifest, one encoding.

use auto_json::{Record, Value};
use flatbuffers::FlatBufferBuilder;

use crate::digest::Digest;
use crate::flat;
use crate::generated::manifest::auto::manifest as fb;
use crate::ir::{Capability, PPM};
use crate::types::Type;
use crate::violation::{Quoted, Violation, Violations};

/// The version of the encoding; the only one there is.
pub const FORMAT: u32 = 1;

/// What a `.cbin` says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The contract's task.
    pub task: String,
    /// What of the agent it does again: `task`, `span model_call NAME`, `region FROM..TO`.
    pub scope: String,
    /// The contract's input type.
    pub input: Type,
    /// The contract's output type.
    pub output: Type,
    /// The texts of the capabilities it may ask for ([`Capability`]). Canonical order: as
    /// texts.
    pub capabilities: Vec<String>,
    /// Whether it abstains on inputs unlike what was witnessed.
    pub guarded: bool,
    /// The contract's id.
    pub contract: Digest,
    /// Of the sorted observations with counts.
    pub evidence: Digest,
    /// Of the eval-run record that the gate's verdict is in.
    pub eval_run: Digest,
    /// The code id: of the module without manifest.
    pub code: Digest,
    /// Distinct observations it was made from.
    pub observations: u32,
    /// Of the replayed inputs that were answered, how many as recorded; ppm.
    pub agreement: Option<u32>,
    /// Of the replayed inputs, how many were answered; ppm.
    pub coverage: Option<u32>,
    /// Of the held-out inputs that were answered, how many as recorded; ppm.
    pub out_of_fold: Option<u32>,
    /// How many held-out inputs that figure is of.
    pub out_of_fold_rows: u32,
    /// What a call costs.
    pub steps: Option<Steps>,
    /// Bytes of the module without manifest.
    pub module_bytes: u32,
    /// The components that took part. Canonical order: by interface; those of one
    /// interface keep theirs, outermost first.
    pub passes: Vec<PassRef>,
    /// The gate that decided, where it was not the pinned one.
    pub trusted_gate: Option<Digest>,
    /// Whether our emit made the code, so that an instance may serve many calls.
    pub reusable: bool,
    /// How it came about, in order.
    pub notes: Vec<String>,
    /// Who was asked, where the verdict rests on opinions and not on equality alone.
    pub judged: Option<Judged>,
}

/// Opinions of a model in a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The model, `openai/gpt-4o`.
    pub model: String,
    /// How many opinions, at least one; they are in the eval-run record.
    pub opinions: u32,
}

/// Metered steps of a call, over the replayed inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The median.
    pub p50: u64,
    /// The 95th percentile, nearest rank.
    pub p95: u64,
    /// The most.
    pub max: u64,
}

/// A component that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassRef {
    /// What it was used for: `auto:pass/extract@0.1.0`.
    pub interface: String,
    /// Of the component.
    pub digest: Digest,
}

impl Manifest {
    /// Everything that is wrong with it.
    ///
    /// Codes: `version`, `empty`, `bad-type`, `capability`, `share`, `steps`.
    pub fn validate(&self) -> Result<(), Vec<Violation>> {
        let mut wrong = Violations::default();
        if self.format != FORMAT {
            wrong.add("version", "format", format!("manifest format {}, this program reads {FORMAT}", self.format));
        }
        for (at, text) in [("task", &self.task), ("scope", &self.scope)] {
            if text.is_empty() {
                wrong.add("empty", at, "must not be empty");
            }
        }
        for (at, ty) in [("input", &self.input), ("output", &self.output)] {
            if let Err(why) = ty.check() {
                wrong.add("bad-type", at, why);
            }
        }
        if self.judged.as_ref().is_some_and(|judged| judged.model.is_empty() || judged.opinions == 0) {
            wrong.add("empty", "judged", "a judge has a name and an opinion");
        }
        self.check_lists(&mut wrong);
        self.check_figures(&mut wrong);
        wrong.into_result()
    }

    fn check_lists(&self, wrong: &mut Violations) {
        let mut capabilities: Vec<&String> = self.capabilities.iter().collect();
        capabilities.sort_unstable();
        for (index, text) in capabilities.iter().enumerate() {
            if Capability::parse(text).is_none() {
                wrong.add("capability", "capabilities", format!("{} is not a capability", Quoted(text)));
            }
            if index > 0 && capabilities[index - 1] == *text {
                wrong.add("capability", "capabilities", format!("{} is there twice", Quoted(text)));
            }
        }
        for (index, pass) in self.passes.iter().enumerate() {
            if pass.interface.is_empty() {
                wrong.add("empty", format!("passes {index}"), "a pass needs its interface");
            }
        }
    }

    fn check_figures(&self, wrong: &mut Violations) {
        for (at, share) in
            [("agreement", self.agreement), ("coverage", self.coverage), ("out_of_fold", self.out_of_fold)]
        {
            if let Some(share) = share.filter(|&share| share > PPM) {
                wrong.add("share", at, format!("{share} of {PPM} parts per million"));
            }
        }
        if let Some(steps) = self.steps.filter(|steps| !(steps.p50 <= steps.p95 && steps.p95 <= steps.max)) {
            wrong.add("steps", "steps", format!("{} <= {} <= {} is false", steps.p50, steps.p95, steps.max));
        }
    }

    /// Puts everything that has no order of its own into canonical order.
    #[must_use]
    pub fn canonical(mut self) -> Manifest {
        self.input.sort();
        self.output.sort();
        self.capabilities.sort();
        self.passes.sort_by(|a, b| a.interface.cmp(&b.interface));
        self
    }

    /// The canonical bytes, or everything that is wrong.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Vec<Violation>> {
        self.validate()?;
        Ok(encode(&self.clone().canonical()))
    }

    /// Reads canonical bytes, and nothing else.
    ///
    /// Codes besides those of [`Manifest::validate`]: `wrong-kind`, `malformed`,
    /// `not-canonical`. Uses memory in proportion to the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Manifest, Vec<Violation>> {
        let root = flat::root::<fb::Manifest>(bytes, fb::MANIFEST_IDENTIFIER, "a manifest")?;
        if root.format() != FORMAT {
            let message = format!("manifest format {}, this program reads {FORMAT}", root.format());
            return Err(Violations::one("version", message));
        }
        let mut wrong = Violations::default();
        let manifest = decode(root, &mut wrong).canonical();
        wrong.into_result()?;
        manifest.validate()?;
        if encode(&manifest) == bytes { Ok(manifest) } else { Err(flat::not_canonical("the manifest")) }
    }

    /// As JSON, for people and programs: digests as hex, types as text, what was not
    /// measured as `null`.
    pub fn to_value(&self) -> Value {
        let manifest = self.clone().canonical();
        let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::Text).collect());
        let pass = |pass: PassRef| -> Value {
            Record::new().with("interface", pass.interface).with("digest", pass.digest.to_string()).into()
        };
        let steps = manifest
            .steps
            .map(|steps| Record::new().with("p50", steps.p50).with("p95", steps.p95).with("max", steps.max));
        let judged =
            manifest.judged.map(|judged| Record::new().with("model", judged.model).with("opinions", judged.opinions));
        Record::new()
            .with("format", manifest.format)
            .with("task", manifest.task)
            .with("scope", manifest.scope)
            .with("input", manifest.input.to_string())
            .with("output", manifest.output.to_string())
            .with("capabilities", texts(manifest.capabilities))
            .with("guarded", manifest.guarded)
            .with("contract", manifest.contract.to_string())
            .with("evidence", manifest.evidence.to_string())
            .with("eval_run", manifest.eval_run.to_string())
            .with("code", manifest.code.to_string())
            .with("observations", manifest.observations)
            .with("agreement", manifest.agreement)
            .with("coverage", manifest.coverage)
            .with("out_of_fold", manifest.out_of_fold)
            .with("out_of_fold_rows", manifest.out_of_fold_rows)
            .with("steps", steps)
            .with("module_bytes", manifest.module_bytes)
            .with("passes", manifest.passes.into_iter().map(pass).collect::<Vec<_>>())
            .with("trusted_gate", manifest.trusted_gate.map(|digest| digest.to_string()))
            .with("reusable", manifest.reusable)
            .with("notes", texts(manifest.notes))
            .with("judged", judged)
            .into()
    }
}

fn encode(manifest: &Manifest) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let digest = |digest: &Digest| fb::Digest::new(digest.as_bytes());
    let passes: Vec<_> = manifest
        .passes
        .iter()
        .map(|pass| {
            let interface = Some(builder.create_string(&pass.interface));
            let digest = digest(&pass.digest);
            fb::PassRef::create(&mut builder, &fb::PassRefArgs { interface, digest: Some(&digest) })
        })
        .collect();
    let steps = manifest.steps.map(|steps| fb::Steps::new(steps.p50, steps.p95, steps.max));
    let trusted_gate = manifest.trusted_gate.as_ref().map(digest);
    let args = fb::ManifestArgs {
        format: manifest.format,
        task: Some(builder.create_string(&manifest.task)),
        scope: Some(builder.create_string(&manifest.scope)),
        input: Some(builder.create_string(&manifest.input.to_string())),
        output: Some(builder.create_string(&manifest.output.to_string())),
        capabilities: Some(flat::texts(&mut builder, manifest.capabilities.iter().cloned())),
        guarded: manifest.guarded,
        contract: Some(&digest(&manifest.contract)),
        evidence: Some(&digest(&manifest.evidence)),
        eval_run: Some(&digest(&manifest.eval_run)),
        code: Some(&digest(&manifest.code)),
        observations: manifest.observations,
        agreement: manifest.agreement,
        coverage: manifest.coverage,
        out_of_fold: manifest.out_of_fold,
        out_of_fold_rows: manifest.out_of_fold_rows,
        steps: steps.as_ref(),
        module_bytes: manifest.module_bytes,
        passes: Some(builder.create_vector(&passes)),
        trusted_gate: trusted_gate.as_ref(),
        reusable: manifest.reusable,
        notes: Some(flat::texts(&mut builder, manifest.notes.iter().cloned())),
        judge: manifest.judged.as_ref().map(|judged| builder.create_string(&judged.model)),
        opinions: manifest.judged.as_ref().map_or(0, |judged| judged.opinions),
    };
    let root = fb::Manifest::create(&mut builder, &args);
    fb::finish_manifest_buffer(&mut builder, root);
    builder.finished_data().to_vec()
}

fn decode(manifest: fb::Manifest<'_>, wrong: &mut Violations) -> Manifest {
    let digest = |digest: &fb::Digest| Digest(digest.bytes().into());
    let mut ty = |at: &str, text: &str| {
        text.parse().unwrap_or_else(|error| {
            wrong.add("bad-type", at, format!("{} is not a type: {error}", Quoted(text)));
            Type::Json
        })
    };
    Manifest {
        format: manifest.format(),
        task: manifest.task().to_owned(),
        scope: manifest.scope().to_owned(),
        input: ty("input", manifest.input()),
        output: ty("output", manifest.output()),
        capabilities: manifest.capabilities().iter().map(str::to_owned).collect(),
        guarded: manifest.guarded(),
        contract: digest(manifest.contract()),
        evidence: digest(manifest.evidence()),
        eval_run: digest(manifest.eval_run()),
        code: digest(manifest.code()),
        observations: manifest.observations(),
        agreement: manifest.agreement(),
        coverage: manifest.coverage(),
        out_of_fold: manifest.out_of_fold(),
        out_of_fold_rows: manifest.out_of_fold_rows(),
        steps: manifest.steps().map(|steps| Steps { p50: steps.p50(), p95: steps.p95(), max: steps.max() }),
        module_bytes: manifest.module_bytes(),
        passes: manifest
            .passes()
            .iter()
            .map(|pass| PassRef { interface: pass.interface().to_owned(), digest: digest(pass.digest()) })
            .collect(),
        trusted_gate: manifest.trusted_gate().map(digest),
        reusable: manifest.reusable(),
        notes: manifest.notes().iter().map(str::to_owned).collect(),
        judged: manifest.judge().map(|model| Judged { model: model.to_owned(), opinions: manifest.opinions() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_order_must_be_in_canonical_order() {
        let digest = Digest::of(b"");
        let pass = |interface: &str| PassRef { interface: interface.to_owned(), digest };
        let manifest = Manifest {
            format: FORMAT,
            task: "t".to_owned(),
            scope: "task".to_owned(),
            input: Type::Json,
            output: Type::Json,
            capabilities: vec!["fs".to_owned(), "net".to_owned()],
            guarded: false,
            contract: digest,
            evidence: digest,
            eval_run: digest,
            code: digest,
            observations: 0,
            agreement: None,
            coverage: None,
            out_of_fold: None,
            out_of_fold_rows: 0,
            steps: None,
            module_bytes: 0,
            passes: vec![pass("a"), pass("b")],
            trusted_gate: None,
            reusable: false,
            notes: vec![],
            judged: None,
        };
        assert_eq!(Manifest::from_bytes(&encode(&manifest)).as_ref(), Ok(&manifest));
        let reorders: [fn(&mut Manifest); 2] =
            [|manifest| manifest.capabilities.swap(0, 1), |manifest| manifest.passes.swap(0, 1)];
        for reorder in reorders {
            let mut other = manifest.clone();
            reorder(&mut other);
            let wrong = Manifest::from_bytes(&encode(&other)).expect_err("it was accepted");
            assert_eq!(wrong[0].code, "not-canonical");
            assert_eq!(other.to_bytes(), manifest.to_bytes());
        }
    }
}
