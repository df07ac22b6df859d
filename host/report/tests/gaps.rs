//! What is left out of a sentence: a number, digits of one, what is compared, or the rows of a name.

mod common;

use common::table;

const ONE: &str = "/scores/0/after/mean";
const TWO: &str = "/scores/0/before/mean";
const CONFIRMED: &str = "/scores/1/after/mean";
const CONFIRMED_BEFORE: &str = "/scores/1/before/mean";
const SIZE: &str = "/after/bytes";
const SIZE_BEFORE: &str = "/before/bytes";
const DIFFERENCE: &str = "difference($0/score, $1/score)";

#[test]
fn what_rests_on_a_number_gives_it() {
    let failed: &[&str] = &["experiments?failed"];
    let dropped: &[&str] = &["/individuals?status=dropped"];
    let left_out = "number-left-out";
    table(&[
        ("Experiments of the run failed.", failed, &[], left_out),
        ("The run failed.", failed, &[], left_out),
        ("The search failed.", failed, &[], left_out),
        ("1 experiment of the run failed, and the run failed.", failed, &[], left_out),
        ("The run failed, and i0002 is valid.", &["experiments?failed", "/individuals/2/status"], &[], left_out),
        (
            "The run failed, and the score of i0002 on the select rows is higher than that of the baseline.",
            &["experiments?failed", ONE, TWO],
            &[],
            "comparison-without-evidence",
        ),
        ("The run asked a teacher.", &["/calls"], &[], left_out),
        ("Quarantined candidates of the run are recorded.", &["/individuals?status=quarantined"], &[], left_out),
        ("The run is invalid.", &["/individuals?status=invalid"], &[], left_out),
        ("The run is dropped.", dropped, &[], left_out),
        ("Candidates of the run are dropped.", dropped, &[], left_out),
        ("The limit of the run is.", &["/budget/max_jobs"], &[], left_out),
        ("1 experiment of the run failed.", failed, &[], "supported"),
        ("The run asked a teacher in 0 calls.", &["/calls"], &[], "supported"),
        ("The run asked a teacher in no calls.", &["/calls"], &[], "supported"),
    ]);
}

#[test]
fn none_is_a_number_like_others() {
    let of = |status| format!("/individuals?status={status}");
    let (quarantined, valid) = (of("quarantined"), of("valid"));
    table(&[
        ("No quarantined candidates of the run are recorded.", &[&quarantined], &[], "supported"),
        ("No valid candidates of the run are recorded.", &[&valid], &[], "number-unsupported"),
        ("No experiments of the run failed.", &["experiments?failed"], &[], "number-unsupported"),
        ("No quarantined experiments of the run are recorded.", &[&quarantined], &[], "word-unsupported, wrong-unit"),
        ("Not 0 quarantined candidates of the run are recorded.", &[&quarantined], &[], "negation, wrong-subject"),
    ]);
}

#[test]
fn a_number_keeps_digits_enough_to_be_that_number() {
    let few = "too-few-digits";
    let both: &[&str] = &[ONE, TWO];
    let of_both = |mine: &str, its: &str| {
        format!("The score of i0002 on the select rows is {mine}, and the score of the baseline is {its}.")
    };
    table(&[
        ("The score of the baseline on the select rows is 1.", &[TWO], &[], few),
        ("The score of the baseline on the select rows is 0.9.", &[TWO], &[], few),
        ("The score of i0002 on the select rows is 0.9.", &[ONE], &[], few),
        ("The score of i0002 on the confirm rows is 0.94.", &[CONFIRMED], &[], "supported"),
        (&of_both("0.9", "1"), both, &[], few),
        (&of_both("0.95", "0.88"), both, &[], "supported"),
        (&of_both("0.947195", "0.88"), both, &[], few),
        (&of_both("94.7%", "87.8%"), both, &[], "supported"),
        (&of_both("95%", "87.8%"), both, &[], few),
        ("The score of i0002 on the select rows is 0.1 higher than that of the baseline.", both, &[DIFFERENCE], few),
        ("The score of i0002 on the select rows is 0 higher than that of the baseline.", both, &[DIFFERENCE], few),
        (
            "The size of i0002 is 1 times that of the baseline.",
            &[SIZE, SIZE_BEFORE],
            &["ratio($0/size, $1/size)"],
            "too-few-digits, wrong-subject",
        ),
        ("The setting `stages.0.below` of the run is 0.02.", &["/settings/stages/0/below"], &[], "supported"),
        ("The setting `stages.0.below` of the run is 0.0.", &["/settings/stages/0/below"], &[], few),
        ("The setting `stages.0.below` of the run is 0.", &["/settings/stages/0/below"], &[], few),
        ("The run spent $1.", &["/spent_micro_usd"], &[], few),
    ]);
}

#[test]
fn a_comparison_says_what_it_compares() {
    let sizes: &[&str] = &[SIZE, SIZE_BEFORE];
    let none = "comparison-without-evidence";
    table(&[
        ("The baseline is higher than i0002.", sizes, &[], none),
        ("The baseline exceeds i0002.", sizes, &[], none),
        ("i0002 is below the baseline.", sizes, &[], none),
        ("i0002 beat the baseline on the select rows.", &[ONE, TWO], &[], none),
        ("The score of the baseline exceeds that of i0002.", sizes, &[], "comparison-without-evidence, wrong-subject"),
        ("The size of the baseline exceeds that of i0002.", sizes, &[], "supported"),
    ]);
}

#[test]
fn the_name_of_rows_is_nothing_that_is_done() {
    let rows: &[&str] = &["/scores/1/before/n"];
    table(&[
        ("The baseline was measured on the confirm rows with 3 rows.", rows, &[], "supported"),
        ("The baseline was confirmed.", rows, &[], "word-unsupported"),
        ("The baseline was confirmed with 3 rows.", rows, &[], "word-unsupported, wrong-subject"),
        ("The rows confirm the baseline.", rows, &[], "word-unsupported"),
        ("The score of the baseline was confirmed.", &[CONFIRMED_BEFORE], &[], "word-unsupported"),
        ("The baseline was selected.", &["/scores/0/before/n"], &[], "word-unsupported"),
    ]);
}

#[test]
fn what_is_said_without_a_number_is_said_whole_and_the_same_way_around() {
    let word = "word-unsupported";
    table(&[
        ("The run is a search of the kind evolve.", &["/kind"], &[], "supported"),
        ("The run is kind.", &["/kind"], &[], word),
        ("i0002 counts at the end.", &["/after"], &[], "supported"),
        ("i0002 is the end.", &["/after"], &[], word),
        ("i0002 has the target.", &["/timeline/0/status"], &[], word),
        ("The candidates of the run were proposed by `built-in`.", &["/proposers"], &[], "supported"),
        ("The candidates of the run proposed `built-in`.", &["/proposers"], &[], word),
        ("The experiments of the run kept apart `limits, no-network`.", &["/isolation"], &[], word),
        ("1 experiment of the run was failed.", &["experiments?failed"], &[], "word-unsupported, wrong-subject"),
        ("The run.", &["/kind"], &[], "not-a-sentence"),
        ("The run is i0002.", &["/kind", "/after"], &[], "wrong-subject"),
    ]);
}

#[test]
fn what_comes_of_several_times_names_them_and_is_of_more_than_one() {
    let both: &[&str] = &["/generations/0/tried", "/generations/1/tried"];
    let sum: &[&str] = &["sum($0/tried, $1/tried)"];
    table(&[
        ("The run tried a sum of 2 candidates in generation 1 and generation 2.", both, sum, "supported"),
        ("The run tried a sum of 2 candidates in generation 1.", both, sum, "wrong-subject"),
        ("The run tried a sum of 2 candidates.", both, sum, "wrong-subject"),
        ("The run used a mean of 473 jobs.", &["/budget/jobs"], &["mean($0/jobs)"], "bad-expression"),
    ]);
}
