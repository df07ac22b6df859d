//! `[learning.spec_search]`: what the host itself has to know of it. The rest is handed to the
//! driver as it stands, which reads it strictly.

use std::path::{Path, PathBuf};

use auto_json::Record;

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
    /// The table without what is above.
    pub settings: Record,
    /// Who is asked.
    pub teacher: Teacher,
}

type Result<T> = core::result::Result<T, ConfigError>;

/// The keys that are the host's.
const OURS: [&str; 13] = [
    "spec",
    "tasks",
    "store_task",
    "traces",
    "corpora",
    "student_files",
    "scorer_files",
    "trainer_files",
    "network",
    "pass_environment",
    "at_once",
    "max_experiments",
    "model_mode",
];

pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<SpecSearch> {
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
    OURS.iter().for_each(|key| drop(settings.remove(key)));
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
        settings,
        // What is not in the file is not spent: there is no default here.
        teacher: Teacher {
            model,
            mode: crate::learning::mode(table, folder)?,
            cap: table.micros("max_total_cost_usd", 0..=1_000_000_000_000)?,
        },
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
            ("stagnation_eps = nan\n", "wrong-type", "conf/auto.toml:4:18 learning.spec_search.stagnation_eps"),
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
