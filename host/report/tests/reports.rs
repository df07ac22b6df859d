//! Whole reports: the same of the same run, disclosed, checked again after somebody edited them.

mod common;

use std::fs;

use auto_report::{Corpus, Draft, Evidence, Job, Literature, Section, Writer, check, draw, html, markdown, write};
use common::Run;

fn text(corpus: &Corpus) -> String {
    markdown::write(&write(corpus, None, None).unwrap(), corpus)
}

fn codes(text: &str, corpus: &Corpus) -> Vec<&'static str> {
    let figures = draw::figures(corpus);
    let figure = |name: &str| {
        let own = figures.iter().find(|figure| format!("{}.svg", figure.name) == name);
        own.map(|figure| figure.svg.clone().into_bytes())
    };
    let mut codes: Vec<_> =
        check::check(text, corpus, Some(&figure)).problems.iter().map(|problem| problem.code).collect();
    codes.dedup();
    codes
}

/// A report in which something was replaced.
fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in\n{text}");
    text.replacen(from, to, 1)
}

#[test]
fn the_same_run_gives_the_same_bytes_and_they_stand() {
    let run = Run::of(1);
    let (one, two) = (run.corpus(), run.corpus());
    assert_eq!(text(&one), text(&two));
    let page = |corpus: &Corpus| html::write(&write(corpus, None, None).unwrap(), corpus);
    assert_eq!(page(&one), page(&two));
    assert_eq!(draw::figures(&one), draw::figures(&two));
    assert_eq!(codes(&text(&one), &one), Vec::<&str>::new());
    for heading in [
        "# Report of evolve-",
        "## Abstract",
        "## Introduction",
        "## Method",
        "## Experiments",
        "## Discussion",
        "## Claims",
        "## Files",
    ] {
        assert!(text(&one).contains(heading), "{heading}");
    }
}

#[test]
fn an_edited_sentence_is_ruled_on_again() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let report = text(&corpus);
    for (from, to) in [
        ("is 0.947195, and", "is 0.957195, and"),
        ("higher than", "lower than"),
        ("The run used 473 jobs.", "The run used 500 jobs."),
        ("11 bytes smaller", "11 seconds smaller"),
        ("7.93% higher", "8.0% higher"),
        ("1 experiment of the run failed.", "0 experiments of the run failed."),
    ] {
        let found = codes(&edited(&report, from, to), &corpus);
        assert_eq!(found.first(), Some(&"unsupported-claim"), "{to}: {found:?}");
    }
}

#[test]
fn what_code_made_cannot_be_edited() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let report = text(&corpus);
    for (from, to) in [
        ("| 0.947195 |", "| 0.957195 |"),
        ("| supported |", "| checked |"),
        ("![What was measured", "![What was nearly measured"),
        ("# Report of", "# A great report of"),
    ] {
        assert_eq!(codes(&edited(&report, from, to), &corpus), ["report-changed"], "{to}");
    }
    let uncited = edited(&report, "## Discussion\n\n", "## Discussion\n\nIt is great.\n");
    assert_eq!(codes(&uncited, &corpus), ["uncited-sentence", "report-changed"]);
    let figure = |_: &str| Some(b"<svg/>".to_vec());
    let found: Vec<_> = check::check(&report, &corpus, Some(&figure)).problems.iter().map(|one| one.code).collect();
    assert_eq!(found, ["figure-changed", "figure-changed"]);
    let found: Vec<_> = check::check(&report, &corpus, Some(&|_| None)).problems.iter().map(|one| one.code).collect();
    assert_eq!(found, ["figure-missing", "figure-missing"]);
}

#[test]
fn budget_failures_and_quarantine_are_always_told() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let report = text(&corpus);
    for said in [
        "The run used 473 jobs.",
        "The limit of the run is 1200 jobs.",
        "The run spent $1.250000.",
        "1 dropped candidates of the run are recorded.",
        "0 quarantined candidates of the run are recorded.",
        "1 experiment of the run failed.",
    ] {
        let line =
            report.lines().find(|line| line.starts_with(&said.replace('$', "\\$"))).unwrap_or_else(|| panic!("{said}"));
        let without = report.replace(&format!("{line}\n"), "");
        assert!(codes(&without, &corpus).contains(&"disclosure-missing"), "{said}");
    }
}

#[test]
fn a_report_is_of_one_run_and_of_the_files_it_had_then() {
    let (run, other) = (Run::of(1), Run::of(2));
    let report = text(&run.corpus());
    assert_eq!(codes(&report, &other.corpus()), ["other-run"]);
    assert_eq!(codes("# A report\n", &run.corpus()), ["not-a-report"]);
    let path = run.path.join("report.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("nothing better came", "something came")).unwrap();
    let found = codes(&report, &run.corpus());
    assert_eq!(found[..2], ["stale-artifact", "unsupported-claim"]);
    // What failed is proved by the records of all experiments.
    let run = Run::of(1);
    let record = run.path.join("experiments/bb22.json");
    fs::write(&record, fs::read_to_string(&record).unwrap().replace("\"with\":1", "\"with\":0")).unwrap();
    let found = check::check(&report, &run.corpus(), None).problems;
    assert!(found[0].code == "stale-artifact" && found[0].message.starts_with("experiments/ was changed"), "{found:?}");
}

#[test]
fn a_given_text_has_to_be_given_again_and_to_be_the_same() {
    let run = Run::of(1);
    let given = |text: &str| [Literature { name: "notes.txt".to_owned(), bytes: text.as_bytes().to_vec() }];
    let corpus = run.corpus_with(&given("Best fit is an old heuristic for packing."));
    let report = text(&corpus);
    assert!(report.contains("## Related Work"));
    assert_eq!(codes(&report, &corpus), Vec::<&str>::new());
    assert_eq!(codes(&report, &run.corpus()).first(), Some(&"stale-artifact"));
    let other = run.corpus_with(&given("Best fit is a new heuristic for packing."));
    assert_eq!(codes(&report, &other).first(), Some(&"stale-artifact"));
}

#[test]
fn nothing_that_somebody_wrote_is_markup() {
    let run = Run::of(1);
    let path = run.path.join("report.json");
    let hostile = r#"</p><script>alert(1)</script> [x](javascript:y) | # <!-- auto-report 1 x --> \u202e"#;
    let report = fs::read_to_string(&path)
        .unwrap()
        .replace("too low", hostile)
        .replace("nothing better came", "</p><b>[x](y) <!-- cites -->");
    fs::write(
        &path,
        report.replace(
            "\"metric\":\"score\",\"stratum\":\"confirm\"",
            "\"metric\":\"</text><script>\",\"stratum\":\"confirm\"",
        ),
    )
    .unwrap();
    let corpus = run.corpus();
    let report = write(&corpus, None, None).unwrap();
    let page = html::write(&report, &corpus);
    assert!(!page.contains("<script") && !page.contains("</p><b>"), "{page}");
    for never in ["src=", "http:", "https:", "url(", "@import"] {
        let found = page.replace("http://www.w3.org/2000/svg", "").matches(never).count();
        assert_eq!(found, 0, "{never}");
    }
    let text = markdown::write(&report, &corpus);
    assert_eq!(text.matches("<!-- auto-report").count(), 1);
    // What stands between backticks is none, whatever it is.
    let plain = text.split('`').step_by(2).collect::<String>().replace("\\<", "");
    assert!(!plain.contains("<b") && !plain.contains("<script"), "{text}");
    assert_eq!(codes(&text, &corpus), Vec::<&str>::new());
}

/// Says what it is told to, and notes how often it was asked.
struct Says<'s> {
    first: &'s str,
    then: &'s str,
    asked: std::cell::RefCell<Vec<usize>>,
}

impl Writer for Says<'_> {
    fn write(&self, _: &Job, evidence: &[&Evidence], refused: &[(Draft, String)]) -> Result<Draft, String> {
        assert!(!evidence.is_empty() && evidence.len() <= 5 && evidence.iter().all(|one| !one.text.is_empty()));
        self.asked.borrow_mut().push(refused.len());
        let text = if refused.is_empty() { self.first } else { self.then };
        let own = evidence[0];
        let text = if text == "RIGHT" {
            own.text.replacen("the ", "The ", usize::from(own.text.starts_with("the ")))
        } else {
            text.to_owned()
        };
        Ok(Draft { text, cites: vec![own.short()], using: Vec::new() })
    }
}

#[test]
fn whoever_writes_is_asked_again_twice_and_then_left_out_and_listed() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let liar = Says { first: "It is a breakthrough.", then: "It is great.", asked: Default::default() };
    let report = write(&corpus, None, Some(&liar)).unwrap();
    // Disclosure is nobody's to write.
    assert!(report.sentences.iter().all(|sentence| sentence.section == Section::Discussion));
    assert!(report.sentences.iter().any(|sentence| sentence.draft.text == "1 experiment of the run failed."));
    assert_eq!(liar.asked.borrow().len(), report.deleted.len() * 3);
    assert_eq!(liar.asked.borrow().iter().max(), Some(&2));
    let text = markdown::write(&report, &corpus);
    assert!(text.contains("## Left out\n\n- Abstract: word-unsupported\n"), "{text}");
    assert!(!text.contains("It is great."), "nothing proves it, so it stands nowhere");
    assert_eq!(codes(&text, &corpus), Vec::<&str>::new());
    // Nobody can say more there than that.
    for forged in
        ["- Abstract: word-unsupported: It is great.", "It is great.", "- Abstract: it-is-great", "- Great: negation"]
    {
        let found = codes(&edited(&text, "- Abstract: word-unsupported", forged), &corpus);
        assert_eq!(found.first(), Some(&"uncited-sentence"), "{forged}: {found:?}");
    }
    let forged = edited(&text, "- Abstract: word-unsupported", "- A given text, notes.txt: it is great");
    assert_eq!(codes(&forged, &corpus), ["report-changed"]);

    let learns = Says { first: "It is a breakthrough.", then: "RIGHT", asked: Default::default() };
    let report = write(&corpus, None, Some(&learns)).unwrap();
    assert!(report.deleted.is_empty(), "{:?}", report.deleted);
    assert!(report.rewrites > 10 && report.sentences.len() > 20);
    assert_eq!(codes(&markdown::write(&report, &corpus), &corpus), Vec::<&str>::new());
}

#[test]
fn whatever_somebody_writes_can_be_listed_and_read_again() {
    struct Writes(Draft);
    impl Writer for Writes {
        fn write(&self, _: &Job, _: &[&Evidence], _: &[(Draft, String)]) -> Result<Draft, String> {
            Ok(self.0.clone())
        }
    }
    let run = Run::of(1);
    let corpus = run.corpus();
    let own = corpus.at("/notes/0").unwrap();
    let short = own.short();
    for (text, cites) in [
        (" two\nlines. ", vec!["aa"]),
        ("`odd -->: [1](#s1)<!-- cites aa -->", vec!["a b", "", "--> x"]),
        ("", vec![]),
        ("\u{202e}turned | **bold** <script>", vec!["aa"]),
        // It would stand, and is not what most sentences were to be made of.
        (&own.text, vec![&short]),
    ] {
        let cites = cites.into_iter().map(str::to_owned).collect();
        let writer = Writes(Draft { text: text.to_owned(), cites, using: Vec::new() });
        let report = write(&corpus, None, Some(&writer)).unwrap();
        assert!(!report.deleted.is_empty());
        assert_eq!(codes(&markdown::write(&report, &corpus), &corpus), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn the_words_of_a_sentence_come_of_three_to_five_evidences() {
    struct Counts(std::cell::RefCell<Vec<usize>>);
    impl Writer for Counts {
        fn write(&self, job: &Job, evidence: &[&Evidence], _: &[(Draft, String)]) -> Result<Draft, String> {
            self.0.borrow_mut().push(evidence.len());
            job.template.clone().ok_or_else(|| "none".to_owned())
        }
    }
    let run = Run::of(1);
    let counts = Counts(Default::default());
    write(&run.corpus(), None, Some(&counts)).unwrap();
    let counts = counts.0.into_inner();
    assert!(counts.iter().all(|count| (3..=5).contains(count)), "{counts:?}");
}
