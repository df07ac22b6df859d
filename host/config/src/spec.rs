//! `[learning.spec_search]`: what the host itself has to know of it. The rest is handed to the
//! driver as it stands, which reads it strictly.

use std::path::{Path, PathBuf};

use auto_json::Record;
use auto_schema::spec_search as keys;

use crate::learning::Teacher;
use crate::table::{ConfigError, Table};

/// `[learning.spec_search]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecSearch {
    /// `spec`: the first spec.
    pub spec: PathBuf,
    /// `tasks`: what students are tried on.
    pub tasks: PathBuf,
    /// `store_task`: traces of that task in the store.
    pub store_task: Option<String>,
    /// `traces`: traces in a file.
    pub traces: Option<PathBuf>,
    /// `[.corpora]`: files of rows by the name of the corpus.
    pub corpora: Vec<(String, PathBuf)>,
    /// `student_files`, `scorer_files`, `trainer_files`.
    pub files: [(&'static str, Vec<PathBuf>); 3],
    /// `network`: whether experiments may use it.
    pub network: bool,
    /// `pass_environment`: names of variables that are handed on and kept nowhere.
    pub pass_environment: Vec<String>,
    /// `at_once`: how many experiments at once.
    pub at_once: Option<u64>,
    /// `max_experiments`: the most that are started.
    pub max_experiments: u64,
    /// `max_runs_cost_usd`, in micro-USD: what commands may say they cost before none is started.
    pub max_runs_cost: Option<u64>,
    /// `[.triggers]`: when `--when-due` begins a search.
    pub triggers: Triggers,
    /// The table without what is above.
    pub settings: Record,
    /// Who is asked.
    pub teacher: Teacher,
}

/// `[learning.spec_search.triggers]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triggers {
    /// Whether new recorded runs begin a search.
    pub scheduled_enabled: bool,
    /// How many of them.
    pub scheduled_min_new_traces: u64,
    /// Whether an agent that fails begins one.
    pub cluster_enabled: bool,
    /// How many of its new runs have to have failed.
    pub cluster_min_size: u64,
    /// Which share of them, in millionths.
    pub cluster_failure_threshold: u64,
}

impl Default for Triggers {
    fn default() -> Triggers {
        Triggers {
            scheduled_enabled: true,
            scheduled_min_new_traces: 20,
            cluster_enabled: true,
            cluster_min_size: 5,
            cluster_failure_threshold: 300_000,
        }
    }
}

type Result<T> = core::result::Result<T, ConfigError>;

/// Refuses every key that nobody reads, where it stands.
fn known(table: &Table<'_>) -> Result<()> {
    table.only(&[keys::HOST.as_slice(), &keys::DRIVER].concat())?;
    let scorer = [keys::COMMAND.as_slice(), &keys::SCORER].concat();
    let inner: [(&str, &[&str]); 7] = [
        ("student", &keys::COMMAND),
        ("scorer", &scorer),
        ("trainer", &keys::COMMAND),
        ("eligible", &keys::ELIGIBLE),
        ("composite_reward", &keys::REWARD),
        ("catalog", &keys::CATALOG),
        ("triggers", &keys::TRIGGERS),
    ];
    for (key, known) in inner {
        if let Some(inner) = table.table(key)? {
            inner.only(known)?;
        }
    }
    Ok(())
}

pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<SpecSearch> {
    known(table)?;
    let path = |key| -> Result<PathBuf> { Ok(folder.join(table.text(key)?.ok_or_else(|| table.absent(key))?)) };
    let paths = |key| -> Result<Vec<PathBuf>> {
        Ok(table.texts(key)?.unwrap_or_default().iter().map(|path| folder.join(path)).collect())
    };
    let traces = table.text("traces")?.map(|path| folder.join(path));
    let store_task = table.text("store_task")?;
    if traces.is_some() && store_task.is_some() {
        return Err(table.bad("traces", "there is a store_task already; give one of them"));
    }
    let mut corpora = Vec::new();
    if let Some(inner) = table.table("corpora")? {
        for name in inner.keys() {
            let file = inner.text(&name)?.unwrap_or_default();
            corpora.push((name, folder.join(file)));
        }
    }
    let mut settings = table.to_record()?;
    keys::HOST.iter().for_each(|key| drop(settings.remove(key)));
    let model = model(table)?;
    Ok(SpecSearch {
        spec: path("spec")?,
        tasks: path("tasks")?,
        store_task,
        traces,
        corpora,
        files: [
            ("student", paths("student_files")?),
            ("scorer", paths("scorer_files")?),
            ("trainer", paths("trainer_files")?),
        ],
        network: table.bool("network")?.unwrap_or(false),
        pass_environment: table.texts("pass_environment")?.unwrap_or_default(),
        at_once: table.number("at_once", 1..=1024)?,
        max_experiments: table.number("max_experiments", 1..=10_000_000)?.unwrap_or(20_000),
        max_runs_cost: table.micros("max_runs_cost_usd", 1..=1_000_000_000_000)?,
        triggers: triggers(table)?,
        settings,
        // What is not in the file is not spent: there is no default here.
        teacher: Teacher {
            model,
            mode: crate::learning::mode(table, folder)?,
            cap: table.micros("max_total_cost_usd", 0..=1_000_000_000_000)?,
        },
    })
}

fn triggers(table: &Table<'_>) -> Result<Triggers> {
    let default = Triggers::default();
    let Some(table) = table.table("triggers")? else { return Ok(default) };
    let least = |key, default| Ok(table.number(key, 1..=1_000_000)?.unwrap_or(default));
    Ok(Triggers {
        scheduled_enabled: table.bool("scheduled_enabled")?.unwrap_or(default.scheduled_enabled),
        scheduled_min_new_traces: least("scheduled_min_new_traces", default.scheduled_min_new_traces)?,
        cluster_enabled: table.bool("cluster_enabled")?.unwrap_or(default.cluster_enabled),
        cluster_min_size: least("cluster_min_size", default.cluster_min_size)?,
        cluster_failure_threshold: table
            .micros("cluster_failure_threshold", 0..=1_000_000)?
            .unwrap_or(default.cluster_failure_threshold),
    })
}

/// Who is asked: where `teacher_engine` is `local`, nobody but a model at home.
fn model(table: &Table<'_>) -> Result<Option<String>> {
    let engine = table.text("teacher_engine")?.unwrap_or_else(|| "cloud".to_owned());
    if !["cloud", "local"].contains(&engine.as_str()) {
        return Err(table.bad("teacher_engine", "it is neither cloud nor local"));
    }
    let Some(name) = table.text("teacher_model")?.filter(|_| engine == "local") else {
        return table.text("teacher_model");
    };
    let plain = name.strip_prefix("model:").unwrap_or(&name);
    match plain.split_once('/') {
        Some(("ollama" | "llamacpp", _)) => Ok(Some(plain.to_owned())),
        Some(("openai" | "anthropic", _)) => {
            let why = "teacher_engine is local, and this model is no local one; name one of ollama/ or llamacpp/";
            Err(table.bad("teacher_model", why))
        }
        _ => Ok(Some(format!("ollama/{plain}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn parse(text: &str) -> core::result::Result<SpecSearch, ConfigError> {
        let text = format!("[learning.spec_search]\nspec = \"spec.json\"\ntasks = \"t.jsonl\"\n{text}");
        Config::parse(&text, Path::new("conf/auto.toml")).map(|config| config.learning.spec_search.unwrap())
    }

    #[test]
    fn what_is_the_host_s_is_taken_out_and_the_rest_handed_on_as_it_stands() {
        let spec = parse(
            "teacher_model = \"qwen\"\nteacher_engine = \"local\"\nmax_total_cost_usd = 2.50\nstagnation_eps = 0.001\n\
             student_files = [\"a.py\"]\nnetwork = true\n[learning.spec_search.corpora]\nadp = \"adp.jsonl\"\n\
             [learning.spec_search.student]\ncommand = [\"python3\", \"a.py\"]\nseconds = 0x10\n",
        )
        .unwrap();
        assert_eq!(spec.settings.iter().map(|(key, _)| key).collect::<Vec<_>>().len(), 5);
        let settings = auto_json::Value::from(spec.settings).to_string();
        for part in [
            "\"stagnation_eps\":0.001",
            "\"seconds\":16",
            "\"teacher_model\":\"qwen\"",
            "\"command\":[\"python3\",\"a.py\"]",
        ] {
            assert!(settings.contains(part), "{part}: {settings}");
        }
        assert_eq!((spec.teacher.model.as_deref(), spec.teacher.cap), (Some("ollama/qwen"), Some(2_500_000)));
        assert_eq!(
            (spec.spec, spec.corpora),
            ("conf/spec.json".into(), vec![("adp".to_owned(), "conf/adp.jsonl".into())])
        );
        assert!(spec.network);
    }

    #[test]
    fn a_local_teacher_is_a_model_at_home_or_nobody() {
        let named = |engine: &str, model: &str| {
            let parsed = parse(&format!("teacher_engine = \"{engine}\"\nteacher_model = \"{model}\"\n"));
            parsed.map(|spec| spec.teacher.model.unwrap()).map_err(|error| (error.code, error.at))
        };
        for (model, asked) in [
            ("qwen", "ollama/qwen"),
            ("gpt-4o", "ollama/gpt-4o"),
            ("hf.co/acme/tiny", "ollama/hf.co/acme/tiny"),
            ("ollama/qwen", "ollama/qwen"),
            ("model:llamacpp/any", "llamacpp/any"),
        ] {
            assert_eq!(named("local", model).as_deref(), Ok(asked));
        }
        for model in ["openai/gpt-4o", "model:openai/gpt-4o", "anthropic/claude-opus-4-6"] {
            let (code, at) = named("local", model).unwrap_err();
            assert!(code == "bad-value" && at.ends_with("learning.spec_search.teacher_model"), "{at}");
            assert_eq!(named("cloud", model).as_deref(), Ok(model));
        }
        let (code, at) = named("warp", "qwen").unwrap_err();
        assert!(code == "bad-value" && at.ends_with("learning.spec_search.teacher_engine"), "{at}");
    }

    #[test]
    fn what_is_not_understood_is_an_error_at_its_place() {
        for (text, code, at) in [
            ("stagnation = 2\n", "unknown-key", "conf/auto.toml:4:1 learning.spec_search.stagnation"),
            (
                "[learning.spec_search.eligible]\nagent = [\"x\"]\n",
                "unknown-key",
                "conf/auto.toml:5:1 learning.spec_search.eligible.agent",
            ),
            (
                "[learning.spec_search.student]\nshell = \"x\"\n",
                "unknown-key",
                "conf/auto.toml:5:1 learning.spec_search.student.shell",
            ),
            ("stagnation_eps = nan\n", "wrong-type", "conf/auto.toml:4:18 learning.spec_search.stagnation_eps"),
            (
                "[learning.spec_search.triggers]\nscheduled_cron = \"0 3 * * *\"\n",
                "unknown-key",
                "conf/auto.toml:5:1 learning.spec_search.triggers.scheduled_cron",
            ),
            ("network = 1\n", "wrong-type", "conf/auto.toml:4:11 learning.spec_search.network"),
            ("traces = \"a\"\nstore_task = \"b\"\n", "bad-value", "conf/auto.toml:4:10 learning.spec_search.traces"),
            (
                "[learning.spec_search.corpora]\nadp = 1\n",
                "wrong-type",
                "conf/auto.toml:5:7 learning.spec_search.corpora.adp",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code, error.at.as_str()), (code, at), "{text}: {}", error.message);
        }
    }
}
