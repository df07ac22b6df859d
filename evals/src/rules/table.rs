//! Twelve fixed programs, each with the same function written by hand in Rust. The tests of `emit`
//! hold the two against each other.

#[path = "native.rs"]
mod native;

/// A program, and the same by hand.
pub struct Rule {
    /// What it is called.
    pub name: &'static str,
    /// The type of its input.
    pub input: &'static str,
    /// In the language.
    pub program: &'static str,
    /// From the JSON text of the input to that of the answer.
    pub by_hand: fn(&str) -> Option<String>,
    /// Some inputs, all of which have an answer.
    pub inputs: &'static [&'static str],
}

/// All of them.
pub const RULES: [Rule; 12] = [
    Rule {
        name: "last-name",
        input: "text",
        program: r#"cut($, "^ proper #-1", "^ end")"#,
        by_hand: native::last_name,
        inputs: &[r#""Ann Lee Fox""#, r#""Zoë Ågren""#, r#""Maria del Carmen Ruiz Soto""#],
    },
    Rule {
        name: "initials",
        input: "text",
        program: r#"recase($, "initials")"#,
        by_hand: native::initials,
        inputs: &[r#""ada king lovelace""#, r#""Jean-Luc Picard""#, r#""émile zola""#],
    },
    Rule {
        name: "domain",
        input: "text",
        program: r#"lower(after(token($, "email", 0), "@"))"#,
        by_hand: native::domain,
        inputs: &[r#""mail Ann.Fox@Example.com today""#, r#""x@mail.example.co.uk""#],
    },
    Rule {
        name: "file-stem",
        input: "text",
        program: r#"cut($, "'/' ^ #-1", "^ '.' #-1")"#,
        by_hand: native::file_stem,
        inputs: &[r#""/var/data/2024/report.v2.csv""#, r#""/x/a.b""#],
    },
    Rule {
        name: "phone",
        input: "text",
        program: r#"concat("(", token($, "digits", 0), ") ", token($, "digits", 1), "-", token($, "digits", 2))"#,
        by_hand: native::phone,
        inputs: &[r#""425-555-0143""#, r#""(206) 555 0199""#, r#""tel. 312.555.0107""#],
    },
    Rule {
        name: "money",
        input: "text",
        program: r#"print_number(read_number($, "1,234.5"), "$#,##0.00")"#,
        by_hand: native::money,
        inputs: &[r#""1234567.891""#, r#""12,345""#, r#""0.5""#, r#""$88.1""#],
    },
    Rule {
        name: "bucket",
        input: "int",
        program: r#"concat(text(round($, 25, "down")), "-", text(add(round($, 25, "down"), 24)))"#,
        by_hand: native::bucket,
        inputs: &["76", "100", "0", "-3", "123456"],
    },
    Rule {
        name: "date",
        input: "text",
        program: r#"print_date(read_date($, "M/d/yyyy"), "EEE d MMM yyyy")"#,
        by_hand: native::date,
        inputs: &[r#""3/17/2024""#, r#""12/1/1999""#, r#""7/04/1776""#],
    },
    Rule {
        name: "half-hour",
        input: "text",
        program: r#"print_date(date_round(read_date($, "H:mm:ss"), 30, "minutes", "down"), "h:mma")"#,
        by_hand: native::half_hour,
        inputs: &[r#""18:25:57""#, r#""7:00:20""#, r#""00:59:59""#],
    },
    Rule {
        name: "slug",
        input: "text",
        program: r#"recase(unaccent($), "kebab")"#,
        by_hand: native::slug,
        inputs: &[r#""Ten ways to fail, and one not to""#, r#""Crème brûlée für Anfänger""#],
    },
    Rule {
        name: "total",
        input: "text",
        program: r#"sum(map(matches($, "digits"), d => number(d)))"#,
        by_hand: native::total,
        inputs: &[r#""3 apples, 12 pears and 150 plums""#, r#""none""#, r#""7""#],
    },
    Rule {
        name: "triage",
        input: "record{amount: int, subject: text, tier: text}",
        program: r#"{"level": if(or(ge($.amount, 1000), eq($.tier, "gold")), "urgent", if(ge($.amount, 250), "high", "normal")), "reply": concat("About ", trim($.subject), ": ", token($.subject, "id", 0))}"#,
        by_hand: native::triage,
        inputs: &[
            r#"{"amount":300,"subject":"lost ORD-2024-17","tier":"basic"}"#,
            r#"{"amount":12,"subject":" where is A-1 ","tier":"gold"}"#,
        ],
    },
];
