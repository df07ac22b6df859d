//! A run in a folder of its own, small and whole.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs;
use std::path::{Path, PathBuf};

use auto_report::{Artifacts, Corpus, Draft, Evidence, Expression, Literature, Ruling, verify};
use auto_schema::digest::Digest;

/// A run, and the folder that goes with it.
pub struct Run {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

fn blob(path: &Path, bytes: &[u8]) -> String {
    let digest = Digest::of(bytes).to_string();
    fs::create_dir_all(path.join("blobs")).unwrap();
    fs::write(path.join("blobs").join(&digest), bytes).unwrap();
    digest
}

const PROGRAM: &[u8] = b"\"\"\"Packs items, one by one.\n\n\"\"\"\n# Every item is packed once.\nprint(1)\n";

impl Run {
    /// An evolution of `seed`: two candidates beside the baseline, one of which failed.
    pub fn of(seed: u32) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let list = format!(r#"[{{"digest":"{}","executable":false,"path":"pack.py"}}]"#, Digest::of(PROGRAM));
        let files = Digest::of(list.as_bytes());
        let settings =
            format!(r#"{{"offspring":8,"scorer":{{"seconds":60}},"seed":{seed},"stages":[{{"below":0.02}}]}}"#);
        let given = format!(
            r#"{{"form":1,"host":{{}},"inputs":{{"files":"{files}"}},"kind":"evolve","label":"","settings":{settings}}}"#
        );
        let id = format!("evolve-{}", &Digest::of(given.as_bytes()).to_string()[..12]);
        let path = folder.path().join(&id);
        fs::create_dir_all(path.join("experiments")).unwrap();
        blob(&path, PROGRAM);
        blob(&path, list.as_bytes());
        fs::write(path.join("run.json"), given).unwrap();
        let before = blob(&path, format!("before {seed}").as_bytes());
        let after = blob(&path, format!("after {seed}").as_bytes());
        let low = blob(&path, b"{\"id\":\"a\",\"score\":0.87762}\n{\"id\":\"b\",\"score\":0.87762}\n");
        let high = blob(&path, b"{\"id\":\"a\",\"score\":0.944}\n{\"id\":\"b\",\"score\":0.95039}\n");
        let scores =
            |score: &str| ["a", "b", "c"].map(|id| format!("{{\"id\":\"{id}\",\"score\":{score}}}\n")).concat();
        let confirm = [("LESS", "0.870877"), ("MORE", "0.94215")];
        let confirm = confirm.map(|(name, score)| (name, blob(&path, scores(score).as_bytes())));
        let filled = [("RUN", &id), ("BEFORE", &before), ("AFTER", &after), ("LOW", &low), ("HIGH", &high)];
        let filled = filled.into_iter().chain(confirm.iter().map(|(name, digest)| (*name, digest)));
        let report = filled.fold(REPORT.to_owned(), |text, (name, with)| text.replace(name, with));
        fs::write(path.join("report.json"), report).unwrap();
        let log = blob(&path, b"cannot divide by nothing\n");
        let empty = blob(&path, b"");
        for (key, with, stderr) in [("aa11", 0, &empty), ("bb22", 1, &log)] {
            let outcome = format!(
                r#"{{"ending":"exited","files":[],"milliseconds":5,"stderr":"{stderr}","stdout":"{empty}","with":{with}}}"#
            );
            let record = format!(r#"{{"key":"{key}","outcome":{outcome}}}"#);
            fs::write(path.join("experiments").join(format!("{key}.json")), record).unwrap();
        }
        Run { _folder: folder, path }
    }

    pub fn corpus(&self) -> Corpus {
        self.corpus_with(&[])
    }

    pub fn corpus_with(&self, literature: &[Literature]) -> Corpus {
        Corpus::of(&Artifacts::of(&self.path), literature).unwrap()
    }

    /// Why the run cannot be read.
    pub fn refused(&self) -> &'static str {
        Corpus::of(&Artifacts::of(&self.path), &[]).map(drop).unwrap_err().code
    }
}

/// The evidence whose place in the report is this.
pub fn at<'c>(corpus: &'c Corpus, locator: &str) -> &'c Evidence {
    corpus.at(locator).unwrap_or_else(|| panic!("there is no {locator}"))
}

/// A sentence that cites evidence by its places.
pub fn draft(corpus: &Corpus, text: &str, cites: &[&str], using: &[&str]) -> Draft {
    let cites: Vec<String> = cites.iter().map(|locator| at(corpus, locator).short()).collect();
    let expression = |text: &&str| {
        let ids = cites.iter().enumerate();
        let filled = ids.fold((*text).to_owned(), |text, (at, id)| text.replace(&format!("${at}"), id));
        Expression::parse(&filled).unwrap_or_else(|| panic!("{filled}"))
    };
    let using = using.iter().map(expression).collect();
    Draft { text: text.to_owned(), cites, using }
}

/// What is ruled of it: `supported`, or the codes of all that is wrong.
pub fn ruled(corpus: &Corpus, draft: &Draft) -> String {
    match verify(draft, corpus).ruling {
        Ruling::Supported => "supported".to_owned(),
        Ruling::Weaken(text, _) => format!("weaken: {text}"),
        Ruling::Unsupported(reasons) => {
            let mut codes: Vec<&str> = reasons.iter().map(|reason| reason.code).collect();
            codes.sort_unstable();
            codes.dedup();
            codes.join(", ")
        }
    }
}

/// Rules on each sentence, and compares with what is to be ruled.
pub fn table(rows: &[(&str, &[&str], &[&str], &str)]) {
    let run = Run::of(1);
    let corpus = run.corpus();
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, cites, using, expected)| {
            let found = ruled(&corpus, &draft(&corpus, text, cites, using));
            (found != *expected).then(|| format!("{text}\n  expected {expected}\n  found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const REPORT: &str = r#"{"kind":"evolve","run":"RUN","status":"complete","stop":"stagnation","why":"nothing better came",
"before":{"bytes":30,"commit":"BEFORE","id":"x","individual":"i0000"},
"after":{"bytes":19,"commit":"AFTER","id":"y","individual":"i0002"},
"best":"i0002","seed":1,"calls":0,"experiments":2,"spent_micro_usd":1250000,"teacher_micro_usd":0,
"budget":{"jobs":473,"max_generations":40,"max_jobs":1200,"max_spend_micro_usd":2000000,"spent_micro_usd":1250000},
"isolation":["limits","no-network"],"proposers":["built-in"],"notes":["the label can be told from items alone"],
"confirm":[{"name":"beyond-noise","ok":true,"detail":"it gains 0.071273 over the baseline"}],
"scores":[
 {"metric":"score","stratum":"select","before":{"mean":877620,"n":2,"low":871727,"high":883513},
  "after":{"mean":947195,"n":2,"low":943805,"high":950585}},
 {"metric":"score","stratum":"confirm","before":{"mean":870877,"n":3,"low":860000,"high":945000},
  "after":{"mean":942150,"n":3,"low":938604,"high":945696}}],
"timeline":[{"kind":"edit","id":"i0002","status":"applied","target":"generation 2","reason":"score 0.947195",
  "detail":{"checks":[{"name":"ceiling","ok":false,"detail":"it scores 0.947195"}]}}],
"generations":[
 {"generation":1,"tried":1,"jobs":200,"incumbent":"i0000","incumbent_micros":877619,"best_micros":412878},
 {"generation":2,"tried":1,"jobs":473,"incumbent":"i0002","incumbent_micros":947194,"best_micros":947194}],
"individuals":[
 {"id":"i0000","bytes":30,"generation":0,"status":"valid","operator":"baseline","idea":"baseline","parents":[],
  "program":"f(a)","reason":"","score_micros":877619,"low_micros":871726,"high_micros":883512,
  "runs":[{"mean":877620,"n":2,"artifacts":[{"digest":"LOW","path":"scores.jsonl"}],"purpose":"whole"},
   {"mean":870877,"n":3,"artifacts":[{"digest":"LESS","path":"scores.jsonl"}],"purpose":"confirm"}]},
 {"id":"i0001","bytes":31,"generation":1,"status":"dropped","operator":"mutation","idea":"functional",
  "parents":["i0000"],"program":"g(a)","reason":"too low","runs":[]},
 {"id":"i0002","bytes":19,"generation":2,"status":"valid","operator":"simplify","idea":"structural",
  "parents":["i0001"],"program":"h(a)","reason":"","score_micros":947194,"low_micros":943804,"high_micros":950584,
  "runs":[{"mean":947195,"n":2,"artifacts":[{"digest":"HIGH","path":"scores.jsonl"}],"purpose":"whole"},
   {"mean":942150,"n":3,"artifacts":[{"digest":"MORE","path":"scores.jsonl"}],"purpose":"confirm"}]}]}"#;
