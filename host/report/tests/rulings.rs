//! What the verifier lets stand, and what it does not.

mod common;

use common::{Run, at, draft, ruled, table};

const ONE: &str = "/scores/0/after/mean";
const TWO: &str = "/scores/0/before/mean";
const CONFIRMED: &str = "/scores/1/after/mean";
const CONFIRMED_BEFORE: &str = "/scores/1/before/mean";
const SIZE: &str = "/after/bytes";
const SIZE_BEFORE: &str = "/before/bytes";
const DIFFERENCE: &str = "difference($0/score, $1/score)";

#[test]
fn what_the_evidence_says_stands() {
    table(&[
        ("The score of i0002 on the select rows is 0.947195.", &[ONE], &[], "supported"),
        ("On the select rows, i0002 scored 94.7%.", &[ONE], &[], "supported"),
        ("The score of the baseline on the select rows is 0.88.", &[TWO], &[], "supported"),
        (
            "The score of i0002 on the select rows is 0.947195, and the score of the baseline is 0.877620.",
            &[ONE, TWO],
            &[],
            "supported",
        ),
        ("The score of i0002 on the select rows is higher than that of the baseline.", &[ONE, TWO], &[], "supported"),
        ("i0002 scored better than the baseline on the select rows.", &[ONE, TWO], &[], "supported"),
        ("The score of the baseline on the select rows is lower than that of i0002.", &[ONE, TWO], &[], "supported"),
        (
            "The score of i0002 is higher on the select rows than on the confirm rows.",
            &[ONE, CONFIRMED],
            &[],
            "supported",
        ),
        ("The run used 473 jobs.", &["/budget/jobs"], &[], "supported"),
        ("The run spent $1.25.", &["/spent_micro_usd"], &[], "supported"),
        ("The run spent 125 cents.", &["/spent_micro_usd"], &[], "supported"),
        ("The limit of the run is 1,200 jobs.", &["/budget/max_jobs"], &[], "supported"),
        ("The size of i0002 is 0.019 kB.", &[SIZE], &[], "supported"),
        ("i0001 is dropped.", &["/individuals/1/status"], &[], "supported"),
        ("The program of i0002 is `h(a)`.", &["/individuals/2/program"], &[], "supported"),
        ("The run ended with the words “nothing better came”.", &["/why"], &[], "supported"),
        ("The run recorded three candidates.", &["/individuals"], &[], "supported"),
    ]);
}

#[test]
fn a_fabricated_number_does_not_stand() {
    table(&[
        ("The score of i0002 on the select rows is 0.957195.", &[ONE], &[], "number-unsupported"),
        ("The run used 474 jobs.", &["/budget/jobs"], &[], "number-unsupported"),
        ("The run used 470 jobs.", &["/budget/jobs"], &[], "number-unsupported"),
        ("The run spent $1.26.", &["/spent_micro_usd"], &[], "number-unsupported"),
        ("The score of i0002 on the select rows is -0.947195.", &[ONE], &[], "number-unsupported"),
    ]);
}

#[test]
fn a_percentage_that_was_rounded_up_does_not_stand() {
    table(&[
        ("The score of i0002 on the select rows is 94.8%.", &[ONE], &[], "number-unsupported"),
        ("The score of i0002 on the select rows is 95.0%.", &[ONE], &[], "number-unsupported"),
        ("The score of i0002 on the select rows is 94.72%.", &[ONE], &[], "supported"),
        ("The score of the baseline on the select rows is 88%.", &[TWO], &[], "supported"),
        ("The score of the baseline on the select rows is 89%.", &[TWO], &[], "number-unsupported"),
        // What is said of all has to be so of all.
        ("The score of i0002 on the select rows is 100%.", &[ONE], &[], "number-unsupported"),
    ]);
}

#[test]
fn more_digits_than_are_known_are_weakened_to_those_that_are() {
    table(&[
        (
            "The score of i0002 on the select rows is 0.94719500.",
            &[ONE],
            &[],
            "weaken: The score of i0002 on the select rows is 0.947195.",
        ),
        ("The run used about 473 jobs.", &["/budget/jobs"], &[], "weaken: The run used 473 jobs."),
        ("The run used over 473 jobs.", &["/budget/jobs"], &[], "vague-number, wrong-subject"),
        (
            "The run used up to 473 jobs.",
            &["/budget/jobs"],
            &[],
            "comparison-without-evidence, vague-number, wrong-subject",
        ),
    ]);
}

#[test]
fn number_words_are_numbers() {
    table(&[
        ("The run recorded four candidates.", &["/individuals"], &[], "number-unsupported"),
        ("The run recorded a dozen candidates.", &["/individuals"], &[], "number-unsupported"),
        (
            "The score of i0002 on the select rows is twice that of the baseline.",
            &[ONE, TWO],
            &["ratio($0/score, $1/score)"],
            "number-unsupported, wrong-subject",
        ),
        (
            "i0002 scored half of the baseline on the select rows.",
            &[ONE, TWO],
            &[],
            "number-unsupported, wrong-subject",
        ),
        (
            "i0002 doubled the score of the baseline on the select rows.",
            &[ONE, TWO],
            &[],
            "number-unsupported, wrong-subject",
        ),
        (
            "Two hundred experiments of the run failed.",
            &["experiments?failed"],
            &[],
            "number-unsupported, number-words",
        ),
        ("Half of the experiments of the run failed.", &["experiments?failed"], &[], "number-unsupported"),
        // Words for numbers that are none of ours are words that nothing cited has.
        ("The run recorded several candidates.", &["/individuals"], &[], "word-unsupported"),
        ("All candidates of the run are valid.", &["/individuals?status=valid"], &[], "word-unsupported"),
        ("Most candidates of the run are valid.", &["/individuals?status=valid"], &[], "word-unsupported"),
    ]);
}

#[test]
fn a_swapped_direction_does_not_stand() {
    table(&[
        (
            "The score of i0002 on the select rows is lower than that of the baseline.",
            &[ONE, TWO],
            &[],
            "wrong-direction",
        ),
        (
            "The score of the baseline on the select rows is higher than that of i0002.",
            &[ONE, TWO],
            &[],
            "wrong-direction",
        ),
        ("The score of the baseline beat that of i0002 on the select rows.", &[ONE, TWO], &[], "wrong-direction"),
        ("i0002 scored worse than the baseline on the select rows.", &[ONE, TWO], &[], "wrong-direction"),
        ("The size of i0002 is larger than that of the baseline.", &[SIZE, SIZE_BEFORE], &[], "wrong-direction"),
        ("The size of i0002 is better than that of the baseline.", &[SIZE, SIZE_BEFORE], &[], "supported"),
        (
            "The score of i0002 on the select rows is not higher than that of the baseline.",
            &[ONE, TWO],
            &[],
            "negation, wrong-direction",
        ),
        (
            "The baseline was beaten by i0002 on the select rows.",
            &[ONE, TWO],
            &[],
            "comparison-without-evidence, wrong-subject",
        ),
        ("i0002 was outperformed by the baseline on the select rows.", &[ONE, TWO], &[], "wrong-direction"),
        // Who takes less time is not told by scores.
        ("i0002 is faster than the baseline.", &[ONE, TWO], &[], "comparison-without-evidence"),
        ("The score of i0002 on the select rows is higher.", &[ONE], &[], "comparison-without-evidence"),
        ("The score of i0002 on the select rows equals that of the baseline.", &[ONE, TWO], &[], "wrong-direction"),
    ]);
}

#[test]
fn a_difference_is_declared_and_says_which_way() {
    let says = |text| -> (&str, &[&str], &[&str]) { (text, &[ONE, TWO], &[DIFFERENCE]) };
    let rows = [
        ("The score of i0002 on the select rows is 0.069575 higher than that of the baseline.", "supported"),
        (
            "The score of i0002 on the select rows is 7.0 percentage points higher than that of the baseline.",
            "supported",
        ),
        ("The score of i0002 on the select rows is 7.0% higher than that of the baseline.", "wrong-unit"),
        ("The score of i0002 on the select rows is 0.069575 lower than that of the baseline.", "wrong-direction"),
        ("The score of the baseline on the select rows is 0.069575 lower than that of i0002.", "wrong-subject"),
        (
            "The score of i0002 on the select rows is 0.069575, and that of the baseline is lower.",
            "comparison-without-evidence, wrong-subject",
        ),
        ("The score of i0002 on the select rows is 0.947195 higher than that of the baseline.", "wrong-direction"),
        (
            "The score of i0002 on the confirm rows is 0.069575 higher than that of the baseline.",
            "comparison-without-evidence, wrong-subject",
        ),
    ];
    let rows: Vec<_> = rows
        .iter()
        .map(|(text, expected)| {
            let (text, cites, using) = says(text);
            (text, cites, using, *expected)
        })
        .collect();
    table(&rows);
    table(&[
        (
            "The score of i0002 on the select rows is 0.069575 higher than that of the baseline.",
            &[ONE, TWO],
            &[],
            "number-unsupported",
        ),
        (
            "The score of i0002 on the select rows is 7.93% higher than that of the baseline.",
            &[ONE, TWO],
            &["percent-change($0/score, $1/score)"],
            "supported",
        ),
        (
            "The score of i0002 on the select rows is 7.35% higher than that of the baseline.",
            &[ONE, TWO],
            &["percent-change($1/score, $0/score)"],
            "wrong-subject",
        ),
        (
            "The score of i0002 on the select rows is 1.08 times that of the baseline.",
            &[ONE, TWO],
            &["ratio($0/score, $1/score)"],
            "supported",
        ),
        (
            "The size of i0002 is 11 bytes smaller than that of the baseline.",
            &[SIZE, SIZE_BEFORE],
            &["difference($0/size, $1/size)"],
            "supported",
        ),
        (
            "The size of i0002 is 11 kB smaller than that of the baseline.",
            &[SIZE, SIZE_BEFORE],
            &["difference($0/size, $1/size)"],
            "number-unsupported",
        ),
        (
            "The size of i0002 is 11 bytes smaller than that of the baseline.",
            &[SIZE, ONE],
            &["difference($0/size, $1/score)"],
            "bad-expression, comparison-without-evidence, number-unsupported, wrong-subject",
        ),
    ]);
}

#[test]
fn a_wrong_unit_does_not_stand() {
    table(&[
        ("The size of i0002 is 19 seconds.", &[SIZE], &[], "wrong-unit"),
        ("The size of i0002 is 19 KiB.", &[SIZE], &[], "number-unsupported"),
        ("The size of i0002 is 19.", &[SIZE], &[], "wrong-unit"),
        ("The run used 473 experiments.", &["/budget/jobs"], &[], "word-unsupported, wrong-unit"),
        ("The run used $473 jobs.", &["/budget/jobs"], &[], "wrong-unit"),
        ("The score of i0002 on the select rows is 0.947195 seconds.", &[ONE], &[], "wrong-unit"),
        ("The score of i0002 on the select rows is 0.947195%.", &[ONE], &[], "number-unsupported"),
        ("The score of i0002 on the select rows is 94.7195 percentage points.", &[ONE], &[], "wrong-unit"),
        ("i0002 scored 0.947195 elephants on the select rows.", &[ONE], &[], "word-unsupported, wrong-unit"),
        ("The run spent 1.25 jobs.", &["/spent_micro_usd"], &[], "word-unsupported, wrong-unit"),
    ]);
}

#[test]
fn a_right_number_of_somebody_else_does_not_stand() {
    table(&[
        ("The score of the baseline on the select rows is 0.947195.", &[ONE, TWO], &[], "wrong-subject"),
        ("The score of i0001 on the select rows is 0.947195.", &[ONE], &[], "wrong-subject"),
        ("The score of i0002 on the confirm rows is 0.947195.", &[ONE, CONFIRMED], &[], "wrong-subject"),
        ("The score of i0002 is 0.947195.", &[ONE], &[], "wrong-subject"),
        ("The fitness of i0002 on the select rows is 0.947195.", &[ONE], &[], "wrong-subject"),
        (
            "The score of i0002 on the select rows is 0.877620, and the score of the baseline is 0.947195.",
            &[ONE, TWO],
            &[],
            "wrong-subject",
        ),
        ("The size of i0002 is 30 bytes.", &[SIZE, SIZE_BEFORE], &[], "wrong-subject"),
        ("The run used 1200 jobs.", &["/budget/jobs", "/budget/max_jobs"], &[], "wrong-subject"),
        (
            "3 dropped candidates of the run are recorded.",
            &["/individuals", "/individuals?status=dropped"],
            &[],
            "wrong-subject",
        ),
        ("i0002 is dropped.", &["/individuals/1/status", "/individuals/2/status"], &[], "wrong-subject"),
        (
            "i0001 is dropped, and i0002 is dropped.",
            &["/individuals/1/status", "/individuals/2/status"],
            &[],
            "wrong-subject",
        ),
        (
            "The program of i0001 is `h(a)`.",
            &["/individuals/1/program", "/individuals/2/program"],
            &[],
            "word-unsupported",
        ),
        (
            "By the end of generation 2 the run had used 200 jobs.",
            &["/generations/0/jobs", "/generations/1/jobs"],
            &[],
            "wrong-subject",
        ),
    ]);
}

#[test]
fn what_nothing_cited_says_does_not_stand() {
    table(&[
        ("i0002 is a breakthrough.", &["/individuals/2/status"], &[], "word-unsupported"),
        ("i0002 is not valid.", &["/individuals/2/status"], &[], "negation"),
        ("The check `ceiling` of i0002 holds.", &["/timeline/0/detail/checks/0"], &[], "word-unsupported"),
        ("The check `ceiling` of i0002 does not hold.", &["/timeline/0/detail/checks/0"], &[], "supported"),
        (
            "i0002 scored better because of its program.",
            &[ONE, TWO, "/individuals/2/program"],
            &[],
            "causal-claim, comparison-without-evidence, word-unsupported",
        ),
        (
            "The program of i0002 leads to a score of 0.947195 on the select rows.",
            &[ONE, "/individuals/2/program"],
            &[],
            "causal-claim, word-unsupported",
        ),
        ("The run ended with the words “nothing better”.", &["/why"], &[], "not-quoted"),
        ("The score of i0002 on the select rows is ９４%.", &[ONE], &[], "strange-text"),
        (
            "The score of i0002 on the select rows is 0.947195. It is good.",
            &[ONE],
            &[],
            "not-a-sentence, word-unsupported",
        ),
        ("<b>i0002</b> is valid.", &["/individuals/2/status"], &[], "strange-text, word-unsupported"),
    ]);
}

#[test]
fn significant_is_said_of_intervals_that_do_not_meet() {
    table(&[
        (
            "The score of i0002 on the select rows is significantly higher than that of the baseline.",
            &[ONE, TWO],
            &[],
            "supported",
        ),
        (
            "The score of i0002 on the confirm rows is significantly higher than that of the baseline.",
            &[CONFIRMED, CONFIRMED_BEFORE],
            &[],
            "weaken: The score of i0002 on the confirm rows is higher than that of the baseline.",
        ),
        (
            "The size of i0002 is significantly smaller than that of the baseline.",
            &[SIZE, SIZE_BEFORE],
            &[],
            "weaken: The size of i0002 is smaller than that of the baseline.",
        ),
        ("The score of i0002 on the select rows is significant.", &[ONE], &[], "not-significant"),
    ]);
}

#[test]
fn computed_numbers_are_called_what_they_are() {
    let of = ["/individuals/0/bytes", "/individuals/1/bytes", "/individuals/2/bytes"];
    let all = "$0/size, $1/size, $2/size";
    let mean = format!("mean({all})");
    let sum = format!("sum({all})");
    let max = format!("max({all})");
    let count = format!("count({all})");
    let text = |what: &str| format!("The {what} size of the baseline, i0001 and i0002 is");
    table(&[
        (&format!("{} 26.67 bytes.", text("mean")), &of, &[&mean], "supported"),
        (&format!("{} 26.66 bytes.", text("mean")), &of, &[&mean], "number-unsupported, wrong-subject"),
        (&format!("{} 80 bytes.", text("total")), &of, &[&sum], "supported"),
        (&format!("{} 80 bytes.", text("mean")), &of, &[&sum], "wrong-subject"),
        (&format!("{} 31 bytes.", text("maximum")), &of, &[&max], "supported"),
        ("The size of the baseline, i0001 and i0002 is told of 3 candidates.", &of, &[&count], "word-unsupported"),
    ]);
}

#[test]
fn an_id_that_is_none_of_the_run_dangles() {
    let run = Run::of(1);
    let corpus = run.corpus();
    let mut sentence = draft(&corpus, "The run used 473 jobs.", &["/budget/jobs"], &[]);
    sentence.cites.push("0123456789ab".to_owned());
    assert_eq!(ruled(&corpus, &sentence), "dangling-id");
    sentence.cites.clear();
    assert!(ruled(&corpus, &sentence).starts_with("no-evidence"));
    // The same evidence of another run has another name.
    let other = Run::of(2);
    sentence.cites = vec![at(&other.corpus(), "/budget/jobs").short()];
    assert!(ruled(&corpus, &sentence).starts_with("dangling-id"));
}

#[test]
fn what_is_said_of_two_is_checked_of_both() {
    table(&[
        (
            "The size of i0001 and i0002 is 19 bytes.",
            &[SIZE, "/individuals/1/bytes"],
            &[],
            "number-left-out, wrong-subject",
        ),
        (
            "i0001 and i0002 scored 0.947195 on the select rows.",
            &[ONE, "/individuals/1/bytes"],
            &[],
            "number-left-out, wrong-subject",
        ),
        (
            "i0002 scored 0.947195 on the select rows and the confirm rows.",
            &[ONE, CONFIRMED],
            &[],
            "number-left-out, wrong-subject",
        ),
        (
            "i0001 and i0002 scored better than the baseline on the select rows.",
            &[ONE, TWO, "/individuals/1/bytes"],
            &[],
            "comparison-without-evidence",
        ),
        (
            "The score of i0002 on the select rows is higher than that of the baseline on the confirm rows.",
            &[ONE, TWO, CONFIRMED, CONFIRMED_BEFORE],
            &[],
            "comparison-without-evidence",
        ),
        (
            "On the select rows i0002 scored better than the baseline and worse than i0001.",
            &[ONE, TWO, "/individuals/1/bytes"],
            &[],
            "comparison-without-evidence",
        ),
        (
            "i0001 is dropped, and i0002 is valid.",
            &["/individuals/1/status", "/individuals/2/status"],
            &[],
            "supported",
        ),
        ("i0001 and i0002 are valid.", &["/individuals/1/status", "/individuals/2/status"], &[], "wrong-subject"),
    ]);
}

#[test]
fn a_number_is_said_with_all_that_makes_it_that_number() {
    table(&[
        ("The run has 40 generations.", &["/budget/max_generations"], &[], "wrong-subject"),
        ("The run is 1200 jobs.", &["/budget/max_jobs"], &[], "wrong-subject"),
        ("The run has 1 edit.", &["/timeline?status=applied"], &[], "wrong-subject"),
        ("The setting of the run is 8.", &["/settings/offspring"], &[], "wrong-subject"),
        ("1 experiment of the run ended.", &["experiments?ending=exited with 1"], &[], "wrong-subject"),
        (
            "i0002 came in generation 2 by the operator `structural` of the class `simplify` out of `i0001`.",
            &["/individuals/2/operator"],
            &[],
            "word-unsupported",
        ),
        (
            "i0002 came in generation 2 of the class `simplify` by the operator `structural` out of `i0001`.",
            &["/individuals/2/operator"],
            &[],
            "word-unsupported",
        ),
        ("The run ended with the words “nothing better came”.", &["/why", "/status"], &[], "not-quoted"),
    ]);
}
